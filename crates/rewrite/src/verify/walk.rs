//! One function of the written image, instruction by instruction.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use tare_code::TableForm;
use tare_image::Image;

use crate::addresses::AddressMap;
use crate::verify::{Claim, Copy, Fault, Table, relative};

/// What a function is compared with.
pub(crate) struct Walk<'a, 'data> {
    pub(crate) original: &'a Image<'data>,
    pub(crate) written: &'a Image<'a>,
    /// Original and moved entries of all functions.
    pub(crate) moved: &'a AddressMap,
    pub(crate) claim: &'a Claim,
    pub(crate) stubs: [u64; 3],
}

/// Bytes of an exit's site.
const SITE: u64 = 10;

/// What is known of a copy after its instructions were walked through.
#[derive(Default)]
struct Seen {
    /// For each fragment, the original and the new address of every instruction.
    labels: Vec<Vec<(u64, u64)>>,
    /// Branches within the function: where, and their targets in the original and in the copy.
    branches: Vec<(u64, u64, u64)>,
}

impl Seen {
    fn label(&self, original: u64) -> Option<u64> {
        self.labels.iter().find_map(|labels| {
            let found = labels.binary_search_by_key(&original, |label| label.0).ok()?;
            labels.get(found).map(|label| label.1)
        })
    }
}

impl Walk<'_, '_> {
    /// Checks one copy.
    pub(crate) fn check(&self, copy: &Copy, has_probes: bool) -> Result<(), Fault> {
        let mut seen = Seen::default();
        for (index, (old, new)) in copy.fragments.iter().enumerate() {
            let mut place = Place::new(self, copy, old, new, has_probes)?;
            if has_probes && index == 0 {
                place.entry_site()?;
            }
            place.run(&mut seen)?;
            self.unwinding(old, new)?;
        }
        for &(at, original, copy) in &seen.branches {
            if seen.label(original) != Some(copy) {
                return Err(Fault::new(at, "a branch goes elsewhere than the original's"));
            }
        }
        copy.tables.iter().try_for_each(|table| self.table(table, &seen))
    }

    /// Every entry leads where the original's does, in the copy where that is an instruction of the function.
    fn table(&self, table: &Table, seen: &Seen) -> Result<(), Fault> {
        let fault = |at| Fault::new(at, "an entry of a jump table differs");
        let size = table.form.entry_size();
        for entry in 0..table.entries {
            let (from, to) = (table.original + entry * size, table.copy + entry * size);
            let (original, copy) = match table.form {
                TableForm::Relative32 => (
                    self.original.bytes_at(from, 4).and_then(|field| relative(field, table.original)),
                    self.written.bytes_at(to, 4).and_then(|field| relative(field, table.copy)),
                ),
                TableForm::Absolute64 => (self.original.u64_at(from), self.written.u64_at(to)),
                TableForm::Relocated64 => (self.original.pointer_at(from), self.written.pointer_at(to)),
            };
            let original = original.ok_or(fault(to))?;
            if copy != Some(seen.label(original).unwrap_or(original)) {
                return Err(fault(to));
            }
        }
        Ok(())
    }

    /// A part that could be unwound can still be, by an entry of its own.
    fn unwinding(&self, old: &Range<u64>, new: &Range<u64>) -> Result<(), Fault> {
        let Some(original) = self.original.fde_at(old.start) else { return Ok(()) };
        let found = self.written.fde_at(new.start);
        let is_own = found.is_some_and(|found| found.range.start == new.start && found.range.end <= new.end);
        let has_exceptions = found.is_some_and(|found| found.lsda.is_some() == original.lsda.is_some());
        if is_own && has_exceptions { Ok(()) } else { Err(Fault::new(new.start, "there is no unwind entry")) }
    }

    fn is_inside(&self, copy: &Copy, address: u64) -> bool {
        copy.fragments.iter().any(|(old, _)| old.contains(&address))
    }
}

/// A place in a fragment: the next instruction of the original and of the copy.
struct Place<'a, 'data> {
    walk: &'a Walk<'a, 'data>,
    copy: &'a Copy,
    has_probes: bool,
    old: u64,
    old_end: u64,
    old_bytes: &'a [u8],
    new: u64,
    new_end: u64,
    new_bytes: &'a [u8],
    decoder: Decoder<'a>,
    decoded: Instruction,
}

impl<'a, 'data> Place<'a, 'data> {
    fn new(walk: &'a Walk<'a, 'data>, copy: &'a Copy, old: &Range<u64>, new: &Range<u64>, has_probes: bool) -> Result<Self, Fault> {
        let fault = Fault::new(new.start, "a part is not in the file");
        let old_bytes = walk.original.bytes_at(old.start, old.end.saturating_sub(old.start)).ok_or(fault)?;
        let new_bytes = walk.written.bytes_at(new.start, new.end.saturating_sub(new.start)).ok_or(fault)?;
        Ok(Self {
            walk,
            copy,
            has_probes,
            old: old.start,
            old_end: old.end,
            old_bytes,
            new: new.start,
            new_end: new.end,
            new_bytes,
            decoder: Decoder::with_ip(64, new_bytes, new.start, DecoderOptions::NONE),
            decoded: Instruction::default(),
        })
    }

    const fn fault(&self, what: &'static str) -> Fault {
        Fault::new(self.new, what)
    }

    /// Bytes of the copy from its next instruction on.
    fn ahead(&self, length: usize) -> &'a [u8] {
        let at = usize::try_from(self.new_end - self.new).map_or(0, |left| self.new_bytes.len().saturating_sub(left));
        self.new_bytes.get(at..at + length).unwrap_or_default()
    }

    fn behind_old(&self) -> &'a [u8] {
        let at = usize::try_from(self.old_end - self.old).map_or(0, |left| self.old_bytes.len().saturating_sub(left));
        self.old_bytes.get(at..).unwrap_or_default()
    }

    fn skip(&mut self, length: u64) -> Result<(), Fault> {
        self.new += length;
        let at = usize::try_from(self.new_end.wrapping_sub(self.new)).ok();
        let at = at.and_then(|left| self.new_bytes.len().checked_sub(left));
        let at = at.ok_or(self.fault("the copy ends early"))?;
        self.decoder.set_position(at).map_err(|_| self.fault("the copy ends early"))?;
        self.decoder.set_ip(self.new);
        Ok(())
    }

    /// Decodes the next instruction of the copy, and goes behind it.
    fn next(&mut self) -> Result<u64, Fault> {
        if self.new >= self.new_end {
            return Err(self.fault("the copy ends early"));
        }
        self.decoder.decode_out(&mut self.decoded);
        if self.decoded.is_invalid() {
            return Err(self.fault("bytes that are no instruction"));
        }
        let start = self.new;
        self.new = self.decoded.next_ip();
        Ok(start)
    }

    /// The original's next instruction.
    fn original(&self) -> Instruction {
        Decoder::with_ip(64, self.behind_old(), self.old, DecoderOptions::NONE).decode()
    }

    fn entry_site(&mut self) -> Result<(), Fault> {
        let clean = self.walk.claim.clean.as_ref().and_then(|clean| clean.fragments.first());
        let (length, stub) = if clean.is_some() { (16, 1) } else { (10, 0) };
        let bytes = self.ahead(length);
        let calls = bytes.first() == Some(&0xe8) && relative(bytes.get(1..5).unwrap_or_default(), self.new + 5) == self.walk.stubs.get(stub).copied();
        let branches = clean.is_none_or(|(_, clean)| {
            bytes.get(5..7) == Some(&[0x0f, 0x82]) && relative(bytes.get(7..11).unwrap_or_default(), self.new + 11) == Some(clean.start)
        });
        if calls && branches && self.has_id(bytes.get(length - 5..).unwrap_or_default()) {
            self.skip(length as u64)
        } else {
            Err(self.fault("the probe at the entry is not as agreed"))
        }
    }

    fn has_id(&self, bytes: &[u8]) -> bool {
        bytes.first() == Some(&0xa9) && bytes.get(1..5) == Some(&self.walk.claim.id.to_le_bytes())
    }

    /// Goes behind the site of an exit, if there is one.
    fn exit_site(&mut self) -> Result<bool, Fault> {
        let bytes = self.ahead(SITE as usize);
        let is_call = bytes.first() == Some(&0xe8) && relative(bytes.get(1..5).unwrap_or_default(), self.new + 5) == self.walk.stubs.last().copied();
        if !is_call {
            return Ok(false);
        }
        if !self.has_probes || !self.has_id(bytes.get(5..).unwrap_or_default()) {
            return Err(self.fault("the probe at an exit is not as agreed"));
        }
        self.skip(SITE)?;
        Ok(true)
    }

    fn run(&mut self, seen: &mut Seen) -> Result<(), Fault> {
        let mut labels = Vec::with_capacity(self.old_bytes.len() / 3);
        while self.old < self.old_end {
            labels.push((self.old, self.new));
            self.instruction(seen)?;
        }
        seen.labels.push(labels);
        if self.new == self.new_end {
            return Ok(());
        }
        let at = self.next()?;
        let target = self.decoded.near_branch_target();
        let is_jump = self.decoded.is_jmp_near() && self.new == self.new_end;
        if !is_jump || self.old != self.old_end {
            return Err(Fault::new(at, "there is more than the original has"));
        }
        self.target(seen, at, self.old_end, target)
    }

    fn instruction(&mut self, seen: &mut Seen) -> Result<(), Fault> {
        let has_site = self.exit_site()?;
        let at = self.next()?;
        match self.decoded.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch | FlowControl::Call => self.branch(seen, at, has_site),
            flow => {
                let is_exit = flow == FlowControl::Return;
                let may_be_exit = flow == FlowControl::IndirectBranch;
                if has_site && !is_exit && !may_be_exit || is_exit && self.has_probes && !has_site {
                    return Err(Fault::new(at, "an exit and its probe do not go together"));
                }
                self.plain(at)
            }
        }
    }

    /// An instruction whose bytes are the original's, but for at most one field.
    fn plain(&mut self, at: u64) -> Result<(), Fault> {
        let length = self.decoded.len();
        let new = self.decoded_bytes(at, length);
        let old = self.behind_old().get(..length).ok_or(Fault::new(at, "the copy has more than the original"))?;
        let start = self.old;
        self.old += length as u64;
        if self.decoded.is_ip_rel_memory_operand() {
            let offsets = self.decoder.get_constant_offsets(&self.decoded);
            let field = offsets.displacement_offset();
            let target = old.get(field..field + 4).and_then(|bytes| relative(bytes, start + length as u64));
            let copied = self.decoded.ip_rel_memory_address();
            let is_equal = target == Some(copied) || target.is_some_and(|target| self.is_table(target, copied));
            return if is_equal && equal_outside(old, new, field) {
                Ok(())
            } else {
                Err(Fault::new(at, "a memory operand refers elsewhere than the original's"))
            };
        }
        if old == new || self.is_absolute_table(old, new) {
            return Ok(());
        }
        Err(Fault::new(at, "bytes differ from the original's"))
    }

    fn decoded_bytes(&self, at: u64, length: usize) -> &'a [u8] {
        let left = usize::try_from(self.new_end - at).unwrap_or(0);
        let start = self.new_bytes.len().saturating_sub(left);
        self.new_bytes.get(start..start + length).unwrap_or_default()
    }

    /// Whether two addresses are as far behind the start of a table and of its copy.
    fn is_table(&self, original: u64, copied: u64) -> bool {
        self.copy.tables.iter().any(|table| original.wrapping_sub(table.original) == copied.wrapping_sub(table.copy))
    }

    fn is_absolute_table(&self, old: &[u8], new: &[u8]) -> bool {
        let word = |bytes: &[u8]| bytes.try_into().map(|bytes| u64::from(u32::from_le_bytes(bytes)));
        let fields = old.windows(4).zip(new.windows(4)).enumerate();
        old.len() == new.len()
            && fields.skip(1).any(|(field, (from, to))| {
                let pair = word(from).ok().zip(word(to).ok());
                equal_outside(old, new, field) && pair.is_some_and(|(from, to)| self.is_table(from, to))
            })
    }

    /// A branch or call whose bytes are the original's up to its displacement: the usual case, for which the
    /// original need not be decoded. Answers the original's target.
    fn same_branch(&self, at: u64) -> Option<u64> {
        let length = self.decoded.len();
        let new = self.decoded_bytes(at, length);
        let old = self.behind_old().get(..length)?;
        let end = self.old + length as u64;
        let field = match (new.first()?, new.get(1)?, length) {
            (0xe8 | 0xe9, _, 5) => 1,
            (0x0f, 0x80..=0x8f, 6) => 2,
            (0xeb | 0x70..=0x7f, _, 2) => 1,
            _ => return None,
        };
        if old.get(..field) != new.get(..field) {
            return None;
        }
        let field = old.get(field..)?;
        match field.first() {
            Some(&byte) if field.len() == 1 => Some(end.wrapping_add_signed(i64::from(byte.cast_signed()))),
            _ => relative(field, end),
        }
    }

    fn branch(&mut self, seen: &mut Seen, at: u64, has_site: bool) -> Result<(), Fault> {
        let is_call = self.decoded.flow_control() == FlowControl::Call;
        if let Some(target) = self.same_branch(at) {
            let leaves = !is_call && !self.walk.is_inside(self.copy, target);
            let is_conditional = self.decoded.flow_control() == FlowControl::ConditionalBranch;
            if has_site == (leaves && self.has_probes) && !(leaves && is_conditional) {
                self.old += self.decoded.len() as u64;
                return self.landing(seen, at, is_call, target);
            }
        }
        self.changed_branch(seen, at, has_site)
    }

    /// Compares where a branch or call goes.
    fn landing(&self, seen: &mut Seen, at: u64, is_call: bool, target: u64) -> Result<(), Fault> {
        let copied = self.decoded.near_branch_target();
        if !is_call {
            return self.target(seen, at, target, copied);
        }
        let expected = self.walk.moved.get(&target).copied().unwrap_or(target);
        if copied == expected { Ok(()) } else { Err(Fault::new(at, "a call goes elsewhere than the original's")) }
    }

    /// A branch whose size or form changed.
    fn changed_branch(&mut self, seen: &mut Seen, at: u64, has_site: bool) -> Result<(), Fault> {
        let original = self.original();
        let target = original.near_branch_target();
        let copied = self.decoded.near_branch_target();
        self.old = original.next_ip();
        let is_call = self.decoded.flow_control() == FlowControl::Call;
        let leaves = !is_call && !self.walk.is_inside(self.copy, target);
        let is_conditional = original.flow_control() == FlowControl::ConditionalBranch;
        if leaves && is_conditional && self.has_probes {
            return self.conditional_exit(seen, &original);
        }
        let is_same = self.decoded.mnemonic() == original.mnemonic() && self.decoded.op_count() == original.op_count();
        if !is_same {
            return Err(Fault::new(at, "another branch than the original's"));
        }
        if has_site != (leaves && self.has_probes) {
            return Err(Fault::new(at, "an exit and its probe do not go together"));
        }
        if is_call {
            return self.landing(seen, at, true, target);
        }
        if self.decoded.len() == original.len() && copied == self.new + 2 && !original.is_jcc_short_or_near() && is_conditional {
            return self.widened_counter(seen, target);
        }
        self.target(seen, at, target, copied)
    }

    /// `loop` or `jrcxz` over a jump over a jump.
    fn widened_counter(&mut self, seen: &mut Seen, target: u64) -> Result<(), Fault> {
        let at = self.new;
        if self.ahead(2) != [0xeb, 5] {
            return self.target(seen, at, target, at + 2);
        }
        self.skip(2)?;
        self.next()?;
        let copied = self.decoded.near_branch_target();
        if self.decoded.is_jmp_near() { self.target(seen, at, target, copied) } else { Err(self.fault("no jump")) }
    }

    /// The opposite condition over a site and a jump.
    fn conditional_exit(&mut self, seen: &mut Seen, original: &Instruction) -> Result<(), Fault> {
        let fault = self.fault("a conditional exit is not as it should be");
        let mut opposite = *original;
        opposite.negate_condition_code();
        let is_opposite = self.decoded.is_jcc_short() && self.decoded.condition_code() == opposite.condition_code();
        let over = self.decoded.near_branch_target();
        if !is_opposite || !self.exit_site()? {
            return Err(fault);
        }
        let at = self.next()?;
        let copied = self.decoded.near_branch_target();
        if !self.decoded.is_jmp_near() || self.new != over {
            return Err(fault);
        }
        self.target(seen, at, original.near_branch_target(), copied)
    }

    /// Compares the target of a jump with the original's.
    fn target(&self, seen: &mut Seen, at: u64, original: u64, copied: u64) -> Result<(), Fault> {
        if self.walk.is_inside(self.copy, original) {
            seen.branches.push((at, original, copied));
            return Ok(());
        }
        let expected = self.walk.moved.get(&original).copied().unwrap_or(original);
        if copied == expected { Ok(()) } else { Err(Fault::new(at, "a jump goes elsewhere than the original's")) }
    }
}

/// Whether two instructions are equal outside of the four bytes at `field`.
fn equal_outside(old: &[u8], new: &[u8], field: usize) -> bool {
    old.get(..field) == new.get(..field) && old.get(field + 4..) == new.get(field + 4..)
}
