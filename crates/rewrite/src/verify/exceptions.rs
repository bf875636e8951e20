//! Whether an exception finds in a copy what it finds in the original.
//!
//! For every instruction of a part, both tables are asked as the unwinder asks them: whether a call site covers it, which
//! landing pad that has, and which types its chain of actions lets in. This knows nothing of how tables are written.

use tare_image::{CallSite, Fde, Image, Lsda};

use crate::unwind::leb::{read_signed, read_unsigned};
use crate::verify::seen::Seen;
use crate::verify::{Copy, Fault, relative};

const APPLICATION: u8 = 0x70;
const RELATIVE: u8 = 0x10;
/// Entries are addresses of slots.
const INDIRECT: u8 = 0x80;

/// An image and one of its exception tables.
struct Table<'a, 'data> {
    image: &'a Image<'data>,
    lsda: Lsda<'data>,
    /// The call site that was last found: instructions are asked for in order.
    last: usize,
}

/// Checks the table of a part.
pub(crate) fn check(original: (&Image<'_>, &Fde<'_>), written: (&Image<'_>, &Fde<'_>), copy: &Copy, seen: &Seen) -> Result<(), Fault> {
    let fault = Fault::new(written.1.range.start, "there is no exception table");
    let mut from = Table { image: original.0, lsda: original.0.lsda(original.1).ok_or(fault)?, last: 0 };
    let mut to = Table { image: written.0, lsda: written.0.lsda(written.1).ok_or(fault)?, last: 0 };
    let mut same = (usize::MAX, usize::MAX);
    seen.try_each(&original.1.range, |old, new| {
        match (from.site(old), to.site(new)) {
            (None, None) => {}
            (Some(wanted), Some(found)) if (wanted, found) == same => {}
            (Some(wanted), Some(found)) => {
                from.compare(wanted, &to, found, copy, seen).ok_or(Fault::new(new, "exceptions are handled in another way than the original's"))?;
                same = (wanted, found);
            }
            _ => return Err(Fault::new(new, "a call site of the exception table is missing, or is one too many")),
        }
        Ok(())
    })
}

impl Table<'_, '_> {
    /// The call site that covers an instruction.
    fn site(&mut self, address: u64) -> Option<usize> {
        let sites = &self.lsda.call_sites;
        let covers = |index: usize| sites.get(index).is_some_and(|site| site.range.contains(&address));
        if !covers(self.last) {
            self.last = sites.partition_point(|site| site.range.start <= address).checked_sub(1)?;
        }
        covers(self.last).then_some(self.last)
    }

    /// Whether two call sites lead to the same landing pad with the same actions.
    fn compare(&self, wanted: usize, other: &Table<'_, '_>, found: usize, copy: &Copy, seen: &Seen) -> Option<()> {
        let (wanted, found): (&CallSite, &CallSite) = (self.lsda.call_sites.get(wanted)?, other.lsda.call_sites.get(found)?);
        let is_same = match (wanted.landing_pad, found.landing_pad) {
            (None, None) => return Some(()),
            (Some(old), Some(new)) => seen.label(old) == Some(new) || copy.is_way(new, old),
            _ => false,
        };
        let has_same_slots = (self.lsda.type_encoding ^ other.lsda.type_encoding) & INDIRECT == 0;
        let (chain, other) = (self.chain(wanted.action)?, other.chain(found.action)?);
        (is_same && has_same_slots && chain == other).then_some(())
    }

    /// What a chain of actions lets in: of each, its filter and the types.
    fn chain(&self, action: u64) -> Option<Vec<(i64, Vec<Option<u64>>)>> {
        let mut chain = Vec::new();
        if action == 0 {
            return Some(chain);
        }
        let actions = self.image.bytes_from(self.lsda.actions)?;
        let mut at = usize::try_from(action - 1).ok()?;
        for _ in 0..=actions.len() {
            let mut position = at;
            let filter = read_signed(actions, &mut position)?;
            let link = position;
            let next = read_signed(actions, &mut position)?;
            chain.push((filter, self.types(filter)?));
            if next == 0 {
                return Some(chain);
            }
            at = usize::try_from(i64::try_from(link).ok()?.checked_add(next)?).ok()?;
        }
        None
    }

    /// The types of a filter: one to be caught, or those that an exception specification allows.
    fn types(&self, filter: i64) -> Option<Vec<Option<u64>>> {
        if filter == 0 {
            return Some(Vec::new());
        }
        if let Ok(index) = u64::try_from(filter) {
            return Some(vec![self.type_at(index)?]);
        }
        let allowed = self.image.bytes_from(self.lsda.type_base?)?;
        let mut position = usize::try_from(filter.checked_add(1)?.checked_neg()?).ok()?;
        let mut types = Vec::new();
        while let index @ 1.. = read_unsigned(allowed, &mut position)? {
            types.push(self.type_at(index)?);
        }
        Some(types)
    }

    /// What an entry of the type table refers to; nothing where it stands for every type.
    fn type_at(&self, index: u64) -> Option<Option<u64>> {
        let encoding = self.lsda.type_encoding;
        let size = match encoding & 0x0f {
            0x02 | 0x0a => 2,
            0x03 | 0x0b => 4,
            _ => 8,
        };
        let at = self.lsda.type_base?.checked_sub(index.checked_mul(size)?)?;
        let bytes = self.image.bytes_at(at, size)?;
        if bytes.iter().all(|&byte| byte == 0) {
            return Some(None);
        }
        let is_relative = encoding & APPLICATION == RELATIVE;
        if is_relative && size != 8 {
            return relative(bytes, at).map(Some);
        }
        let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        Some(Some(if is_relative { at.wrapping_add(value) } else { value }))
    }
}
