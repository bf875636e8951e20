//! One function of the written image, instruction by instruction.

mod branches;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use tare_code::{ENDBR64, Program, TableForm, Usual, saves_frame, usual};
use tare_image::Image;

use crate::addresses::AddressMap;
use crate::insertion::{Point, Value};
use crate::points::Slot;
use crate::verify::bodies::Bodies;
use crate::verify::seen::{Labels, Seen};
use crate::verify::{Claim, Claims, Copy, Fault, Fragment, Site, Table, address_of, exceptions, regions, relative, rows, unwinding};

/// What a function is compared with.
pub(crate) struct Walk<'a, 'data> {
    pub(crate) original: &'a Image<'data>,
    pub(crate) written: &'a Image<'a>,
    pub(crate) program: &'a Program,
    /// Original and moved entries of all functions.
    pub(crate) moved: &'a AddressMap,
    pub(crate) bodies: &'a Bodies,
    pub(crate) claims: &'a Claims<'a>,
    pub(crate) claim: &'a Claim<'a>,
}

impl Walk<'_, '_> {
    /// Checks one copy. What was seen of another one is forgotten.
    pub(crate) fn check(&self, copy: &Copy, has_probes: bool, seen: &mut Seen) -> Result<(), Fault> {
        seen.clear();
        for fragment in &copy.fragments {
            if let Some(relocation) = self.original.relocations_in(&fragment.old).first() {
                return Err(Fault::new(relocation.address, "the loader writes an address there in the original alone"));
            }
            Place::new(self, copy, fragment, has_probes)?.run(seen)?;
        }
        copy.fragments.iter().try_for_each(|fragment| self.unwinding(copy, fragment, seen))?;
        for &(at, original, copy) in &seen.branches {
            if seen.label(original).or_else(|| self.behind_lock(original, seen)) != Some(copy) {
                return Err(Fault::new(at, "a branch goes elsewhere than the original's"));
            }
        }
        copy.tables.iter().try_for_each(|table| self.table(copy, table, seen))?;
        let has_regions = has_probes && self.claim.has_regions_inside;
        if has_regions { regions::check(self, copy, seen) } else { Ok(()) }
    }

    /// The place behind the `lock` prefix of an instruction, where that is what an address of the original is.
    fn behind_lock(&self, original: u64, seen: &Seen) -> Option<u64> {
        let prefix = original.checked_sub(1)?;
        let has_lock = self.original.bytes_at(prefix, 1) == Some(&[0xf0]);
        seen.label(prefix).filter(|_| has_lock).map(|prefix| prefix + 1)
    }

    /// Every entry leads where the original's does, in the copy where that is an instruction of the function.
    fn table(&self, copy: &Copy, table: &Table, seen: &Seen) -> Result<(), Fault> {
        let fault = |at| Fault::new(at, "an entry of a jump table differs");
        let size = table.form.entry_size();
        for entry in 0..table.entries {
            let (from, to) = (table.original + entry * size, table.copy + entry * size);
            let original = entry_at(self.original, from, table.form, table.original);
            let copied = entry_at(self.written, to, table.form, table.copy);
            let original = original.ok_or(fault(to))?;
            if copied != Some(seen.label(original).unwrap_or(original)) && !copied.is_some_and(|at| copy.is_way(at, original)) {
                return Err(fault(to));
            }
        }
        Ok(())
    }

    /// A part that could be unwound can still be, by an entry of its own.
    fn unwinding(&self, copy: &Copy, fragment: &Fragment, seen: &Seen) -> Result<(), Fault> {
        let (old, new) = (&fragment.old, &fragment.new);
        let Some(original) = self.original.fde_at(old.start) else { return Ok(()) };
        let found = self.written.fde_at(new.start).filter(|found| found.range.start == new.start && found.range.end <= new.end);
        let found = found.ok_or(Fault::new(new.start, "there is no unwind entry"))?;
        if self.claims.unwinds_all || !rows::are_the_same(original, found, (self.claim, fragment), seen) {
            let own = self.original.fdes().get(self.original.fdes_in_front_of(original.range.start)..).unwrap_or_default();
            for one in own.iter().take_while(|one| one.range.start < old.end) {
                unwinding::check_part((self.original, one), self.written, (self.claim, fragment), seen)?;
            }
        }
        if found.lsda.is_none() && original.lsda.is_none() {
            return Ok(());
        }
        exceptions::check((self.original, original), (self.written, found), copy, seen)
    }

    fn is_inside(&self, copy: &Copy, address: u64) -> bool {
        copy.fragments.iter().any(|fragment| fragment.old.contains(&address))
    }
}

impl Copy {
    /// Whether a way of its own to an instruction of the original begins at an address of the copy.
    pub(crate) fn is_way(&self, address: u64, original: u64) -> bool {
        self.fragments.iter().any(|fragment| fragment.arrivals.binary_search(&(address, original)).is_ok())
    }
}

/// Where an entry of a jump table leads.
pub(crate) fn entry_at(image: &Image<'_>, at: u64, form: TableForm, table: u64) -> Option<u64> {
    match form {
        TableForm::Relative32 => relative(image.bytes_at(at, 4)?, table),
        // The instruction that the distance counts from is named by its place in the original in both.
        TableForm::Distance32 { base } => relative(image.bytes_at(at, 4)?, base),
        TableForm::Absolute64 => image.u64_at(at),
        TableForm::Relocated64 => image.pointer_at(at),
        // A function with such jumps must not have been copied.
        TableForm::Code { .. } => None,
    }
}

/// A place in a fragment: the next instruction of the original and of the copy.
struct Place<'a, 'data> {
    walk: &'a Walk<'a, 'data>,
    copy: &'a Copy,
    fragment: &'a Fragment,
    has_probes: bool,
    old: u64,
    old_bytes: &'a [u8],
    new: u64,
    new_bytes: &'a [u8],
    /// Instructions just passed whose bytes must be the original's: where they begin in both.
    same: (u64, u64),
    /// Sites, jumps and arrivals that were passed.
    sites: usize,
    jumps: usize,
    arrivals: usize,
    decoder: Decoder<'a>,
    decoded: Instruction,
}

impl<'a, 'data> Place<'a, 'data> {
    fn new(walk: &'a Walk<'a, 'data>, copy: &'a Copy, fragment: &'a Fragment, has_probes: bool) -> Result<Self, Fault> {
        let (old, new) = (&fragment.old, &fragment.new);
        let fault = Fault::new(new.start, "a part is not in the file");
        let old_bytes = walk.original.bytes_at(old.start, old.end.saturating_sub(old.start)).ok_or(fault)?;
        let new_bytes = walk.written.bytes_at(new.start, new.end.saturating_sub(new.start)).ok_or(fault)?;
        Ok(Self {
            walk,
            copy,
            fragment,
            has_probes,
            old: old.start,
            old_bytes,
            new: new.start,
            new_bytes,
            same: (old.start, new.start),
            sites: 0,
            jumps: 0,
            arrivals: 0,
            decoder: Decoder::with_ip(64, new_bytes, new.start, DecoderOptions::NONE),
            decoded: Instruction::default(),
        })
    }

    const fn fault(&self, what: &'static str) -> Fault {
        Fault::new(self.new, what)
    }

    /// Bytes of the copy from its next instruction on.
    fn ahead(&self, length: usize) -> &'a [u8] {
        self.new_bytes.get(self.place(self.new)..).and_then(|ahead| ahead.get(..length)).unwrap_or_default()
    }

    fn behind_old(&self) -> &'a [u8] {
        let at = self.old.saturating_sub(self.fragment.old.start);
        usize::try_from(at).ok().and_then(|at| self.old_bytes.get(at..)).unwrap_or_default()
    }

    /// Where an address of the copy is among its bytes.
    fn place(&self, new: u64) -> usize {
        usize::try_from(new.saturating_sub(self.fragment.new.start)).unwrap_or(usize::MAX)
    }

    fn skip(&mut self, length: u64) -> Result<(), Fault> {
        self.new += length;
        if self.new <= self.fragment.new.end { Ok(()) } else { Err(self.fault("the copy ends early")) }
    }

    /// Decodes the next instruction of the copy, and goes behind it.
    fn next(&mut self) -> Result<u64, Fault> {
        let place = self.place(self.new);
        if self.new >= self.fragment.new.end || self.decoder.set_position(place).is_err() {
            return Err(self.fault("the copy ends early"));
        }
        self.decoder.set_ip(self.new);
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

    /// What is said to be inserted right here on one of these sides.
    fn site_here(&self, is_side: fn(Slot) -> bool) -> Option<&'a Site> {
        self.fragment.sites.get(self.sites).filter(|site| site.at == self.new && is_side(site.slot))
    }

    /// Goes behind what is inserted on a side; answers whether an exit of the function was among it.
    fn pass(&mut self, seen: &mut Seen, is_side: fn(Slot) -> bool) -> Result<bool, Fault> {
        let mut has_exit = false;
        while let Some(site) = self.site_here(is_side) {
            self.check_site(site)?;
            self.sites += 1;
            if site.point == Point::FunctionExit {
                has_exit = true;
                seen.exits.push((site.at, site.at));
            }
            if self.walk.claim.has_regions_inside {
                seen.events.push((self.old, site.slot, site.point, site.region));
            }
            self.skip(site.length)?;
        }
        Ok(has_exit)
    }

    /// A site is what the probes asked for, and its fields hold what they should.
    fn check_site(&self, site: &Site) -> Result<(), Fault> {
        let fault = self.fault("a probe is not as agreed");
        let (walk, bytes) = (self.walk, self.ahead(usize::try_from(site.length).map_err(|_| fault)?));
        let insertion = walk.claim.insertions.get(site.insertion as usize).filter(|one| one.bytes.len() == bytes.len()).ok_or(fault)?;
        let mut done = 0;
        for field in insertion.fields.iter() {
            let at = usize::from(field.at);
            let value = bytes.get(at..at + 4).ok_or(fault)?;
            let is_right = match field.value {
                Value::Region => value == site.region.to_le_bytes(),
                other => {
                    let target = relative(value, self.new + u64::from(field.at) + u64::from(field.tail));
                    target.is_some() && target == address_of(walk.claims, Some(walk.claim), walk.moved, other)
                }
            };
            if !is_right || bytes.get(done..at) != insertion.bytes.get(done..at) {
                return Err(fault);
            }
            done = at + 4;
        }
        if bytes.get(done..) == insertion.bytes.get(done..) && self.has_probes { Ok(()) } else { Err(fault) }
    }

    /// Goes behind what is inserted on the ways to an instruction, and the jumps over them.
    fn ways(&mut self, seen: &mut Seen) -> Result<(), Fault> {
        loop {
            self.mark()?;
            self.pass(seen, |slot| matches!(slot, Slot::Fall | Slot::Arrival(_)))?;
            if self.fragment.jumps.get(self.jumps) != Some(&self.new) {
                return Ok(());
            }
            self.jumps += 1;
            let at = self.next()?;
            if !self.decoded.is_jmp_near() {
                return Err(Fault::new(at, "no jump over what is inserted"));
            }
            seen.branches.push((at, self.old, self.decoded.near_branch_target()));
        }
    }

    /// An arrival at an `endbr64` begins with one of its own.
    fn mark(&mut self) -> Result<(), Fault> {
        if self.fragment.arrivals.get(self.arrivals) != Some(&(self.new, self.old)) {
            return Ok(());
        }
        self.arrivals += 1;
        if !self.behind_old().starts_with(&ENDBR64) {
            return Ok(());
        }
        if self.ahead(ENDBR64.len()) != ENDBR64 {
            return Err(self.fault("control may not come here through a pointer, as it may in the original"));
        }
        self.skip(ENDBR64.len() as u64)
    }

    /// Checks the whole fragment.
    fn run(&mut self, seen: &mut Seen) -> Result<(), Fault> {
        let is_entry = self.copy.fragments.first().is_some_and(|first| first.old == self.fragment.old);
        let first = self.fragment.sites.first().filter(|site| site.at == self.new && site.point == Point::FunctionEnter);
        if is_entry && self.has_probes && self.walk.claim.has_entry && first.is_none() {
            return Err(self.fault("there is no probe at the entry"));
        }
        let mut labels = seen.labels_of(&self.fragment.old);
        let mut inserted = self.next_inserted();
        while self.old < self.fragment.old.end {
            let mut has_exit = false;
            if self.new == inserted {
                self.same_so_far(self.new)?;
                self.ways(seen)?;
                labels.push(self.old, self.new);
                has_exit = self.pass(seen, |slot| slot == Slot::Before)?;
                self.same = (self.old, self.new);
                inserted = self.next_inserted();
            } else {
                labels.push(self.old, self.new);
            }
            if !has_exit {
                let Some(next) = self.pass_plain(&mut labels, inserted) else { continue };
                if self.pass_usual(seen, next)? {
                    continue;
                }
            }
            let at = self.next()?;
            if !has_exit && self.decoded.flow_control() == FlowControl::Next && !self.decoded.is_ip_rel_memory_operand() {
                self.old += self.decoded.len() as u64;
                continue;
            }
            self.same_so_far(at)?;
            self.instruction(seen, at, has_exit)?;
            if has_exit {
                seen.left(self.new);
            }
            self.same = (self.old, self.new);
            inserted = self.next_inserted();
        }
        self.same_so_far(self.new)?;
        seen.labels.push(labels);
        if (self.sites, self.jumps, self.arrivals) != (self.fragment.sites.len(), self.fragment.jumps.len(), self.fragment.arrivals.len()) {
            return Err(self.fault("a probe is missing"));
        }
        if self.new == self.fragment.new.end {
            return Ok(());
        }
        let at = self.next()?;
        let target = self.decoded.near_branch_target();
        let is_jump = self.decoded.is_jmp_near() && self.new == self.fragment.new.end;
        if !is_jump || self.old != self.fragment.old.end {
            return Err(Fault::new(at, "there is more than the original has"));
        }
        self.target(seen, at, self.fragment.old.end, target)
    }

    /// Where in the copy something comes next that the original does not have.
    fn next_inserted(&self) -> u64 {
        let site = self.fragment.sites.get(self.sites).map(|site| site.at);
        let jump = self.fragment.jumps.get(self.jumps).copied();
        let arrival = self.fragment.arrivals.get(self.arrivals).map(|arrival| arrival.0);
        site.into_iter().chain(jump).chain(arrival).min().unwrap_or(u64::MAX)
    }

    /// The instructions passed since the last one that was looked at are the original's, up to an address of the copy.
    fn same_so_far(&self, until: u64) -> Result<(), Fault> {
        let (old, new) = self.same;
        let fault = Fault::new(new, "the copy has more than the original");
        let own = self.new_bytes.get(self.place(new)..self.place(until)).ok_or(fault)?;
        let start = usize::try_from(old - self.fragment.old.start).map_err(|_| fault)?;
        let original = self.old_bytes.get(start..).and_then(|bytes| bytes.get(..own.len())).ok_or(fault)?;
        if own == original { Ok(()) } else { self.differing(original, own) }
    }

    /// Instructions that differ do so by the address of a jump table.
    fn differing(&self, original: &[u8], own: &[u8]) -> Result<(), Fault> {
        let mut decoder = Decoder::with_ip(64, own, self.same.1, DecoderOptions::NONE);
        let mut decoded = Instruction::default();
        while decoder.can_decode() {
            let start = decoder.position();
            decoder.decode_out(&mut decoded);
            let place = start..decoder.position();
            let (old, new) = (original.get(place.clone()).unwrap_or_default(), own.get(place).unwrap_or_default());
            if old != new && !self.is_absolute_table(old, new) {
                return Err(Fault::new(decoded.ip(), "bytes differ from the original's"));
            }
        }
        Ok(())
    }

    /// The instruction just decoded.
    fn instruction(&mut self, seen: &mut Seen, at: u64, has_exit: bool) -> Result<(), Fault> {
        match self.decoded.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch | FlowControl::Call => self.changed_branch(seen, at, has_exit),
            _ if self.decoded.mnemonic() == Mnemonic::Xbegin => self.changed_branch(seen, at, has_exit),
            flow => {
                let is_exit = flow == FlowControl::Return;
                let may_be_exit = flow == FlowControl::IndirectBranch;
                if has_exit && !is_exit && !may_be_exit || is_exit && self.wants_exit() && !has_exit {
                    return Err(Fault::new(at, "an exit and its probe do not go together"));
                }
                self.plain(seen, at)
            }
        }
    }

    /// Whether exits have probes.
    const fn wants_exit(&self) -> bool {
        self.has_probes && self.walk.claim.has_exits
    }

    /// An instruction whose bytes are the original's, but for at most one field.
    fn plain(&mut self, seen: &mut Seen, at: u64) -> Result<(), Fault> {
        let length = self.decoded.len();
        if self.decoded.is_ip_rel_memory_operand() {
            let field = self.decoder.get_constant_offsets(&self.decoded).displacement_offset();
            return self.refers_to_the_same(seen, (at, length), field, self.decoded.ip_rel_memory_address());
        }
        let (old, new) = self.both(at, length)?;
        self.old += length as u64;
        if old == new || self.is_absolute_table(old, new) {
            return Ok(());
        }
        Err(Fault::new(at, "bytes differ from the original's"))
    }

    /// An instruction of the copy at an address, so many bytes long, whose operand is at the distance in a field: that leads where the
    /// original's does, and the other bytes are the original's.
    fn refers_to_the_same(&mut self, seen: &mut Seen, (at, length): (u64, usize), field: usize, copied: u64) -> Result<(), Fault> {
        let (old, new) = self.both(at, length)?;
        let start = self.old;
        self.old += length as u64;
        let target = old.get(field..field + 4).and_then(|bytes| relative(bytes, self.old));
        // Where a saved frame is gone on with is found by where it is in the copy, once all of that is known.
        let label = target.filter(|&target| self.walk.is_inside(self.copy, target) && saves_frame(self.walk.original, start));
        seen.branches.extend(label.map(|label| (at, label, copied)));
        let is_equal = label.is_some() || target == Some(copied) || target.is_some_and(|target| self.is_table(target, copied));
        if is_equal && equal_outside(old, new, field) {
            return Ok(());
        }
        Err(Fault::new(at, "a memory operand refers elsewhere than the original's"))
    }

    /// So many bytes of the original from its next instruction on, and of the copy from an address on.
    fn both(&self, at: u64, length: usize) -> Result<(&'a [u8], &'a [u8]), Fault> {
        let new = self.new_bytes.get(self.place(at)..).and_then(|bytes| bytes.get(..length));
        self.behind_old().get(..length).zip(new).ok_or(Fault::new(at, "the copy has more than the original"))
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

    /// Goes behind instructions that hold no field, whose bytes are looked at later, and notes the one behind them; answers what is known of
    /// that without decoding it. `None` where the part ends or something is inserted first.
    fn pass_plain(&mut self, labels: &mut Labels, inserted: u64) -> Option<Option<Usual>> {
        let first = self.place(self.new);
        let (old, new) = (self.old, self.new);
        let mut passed = 0;
        let next = loop {
            let ahead = self.new_bytes.get(first + passed as usize..).unwrap_or_default();
            let next = usual(ahead, new + passed);
            let Some(Usual::Plain { length }) = next else { break Some(next) };
            passed += u64::from(length);
            if old + passed >= self.fragment.old.end || new + passed == inserted {
                break None;
            }
            labels.mark(old + passed);
        };
        (self.old, self.new) = (old + passed, new + passed);
        next
    }

    /// Goes behind the next instruction without decoding it, if that is known to be the original's but for a field, and nothing is inserted.
    fn pass_usual(&mut self, seen: &mut Seen, next: Option<Usual>) -> Result<bool, Fault> {
        match next {
            Some(Usual::Relative { length, field, target }) => {
                let at = self.new;
                self.same_so_far(at)?;
                self.refers_to_the_same(seen, (at, usize::from(length)), usize::from(field), target)?;
                self.new += u64::from(length);
                self.same = (self.old, self.new);
                Ok(true)
            }
            Some(Usual::Direct(copied)) => self.same_branch(seen, &copied),
            Some(Usual::Plain { .. }) | None => Ok(false),
        }
    }
}

/// Whether two instructions are equal outside of the four bytes at `field`.
fn equal_outside(old: &[u8], new: &[u8], field: usize) -> bool {
    old.get(..field) == new.get(..field) && old.get(field + 4..) == new.get(field + 4..)
}
