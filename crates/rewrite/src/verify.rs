//! The written image, read back and held against the original.
//!
//! The file is parsed afresh, its moved code is decoded, and every instruction must be the original's, byte by byte
//! outside of one field whose target is compared instead. Everything that is inserted must stand where it is said to, be
//! what the probes asked for, and refer to what they asked for; every exit must have its probe, and every jump at an
//! original entry must land on the moved entry. Nothing may lead to where a moved function was but to such an entry. Where regions are inside of functions, every way through the function
//! must open and close them like brackets. The original's bytes must be there, and what loader and unwinder read of both
//! files must say the same of the original's code.

mod bodies;
mod exceptions;
mod loader;
pub(crate) mod note;
mod originals;
mod regions;
mod rows;
mod seen;
mod stubs;
mod threads;
mod unwinding;
mod walk;

use std::ops::Range;

use tare_code::{Program, TableForm, Threads};
use tare_image::{Image, RelocationKind};

use crate::Request;
use crate::addresses::AddressMap;
use crate::copies::{self, FunctionCopy};
use crate::error::RewriteError;
use crate::insertion::{Additions, Insertion, Point, Scope, Value};
use crate::layout::Layout;
use crate::plan::Moved;
use crate::points::Slot;
use bodies::Bodies;
use loader::Hooks;
use seen::Seen;
use walk::Walk;

/// Where one copy of a function is said to be.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) fragments: Vec<Fragment>,
    pub(crate) tables: Vec<Table>,
}

/// Where a part is said to be.
#[derive(Debug)]
pub(crate) struct Fragment {
    /// Link addresses in the original and of the copy.
    pub(crate) old: Range<u64>,
    pub(crate) new: Range<u64>,
    /// What is inserted, in order.
    pub(crate) sites: Vec<Site>,
    /// Link addresses of the jumps over arrivals, in order.
    pub(crate) jumps: Vec<u64>,
    /// Where ways of their own begin: link addresses in the copy and of the instruction in the original.
    pub(crate) arrivals: Vec<(u64, u64)>,
}

/// Something that is inserted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    /// Link address in the copy.
    pub(crate) at: u64,
    pub(crate) length: u64,
    pub(crate) point: Point,
    pub(crate) slot: Slot,
    /// Number of the region in the image.
    pub(crate) region: u32,
    pub(crate) insertion: u32,
}

impl Copy {
    fn of(copy: &FunctionCopy, id: u32) -> Self {
        let fragment = |one: &copies::Fragment| {
            let start = one.address;
            let at = |offset: u32| start + u64::from(offset);
            let site = |site: &copies::Site| Site {
                at: at(site.at),
                length: u64::from(site.length),
                point: site.point,
                slot: site.slot,
                region: id + site.region,
                insertion: site.insertion,
            };
            Fragment {
                old: one.original.clone(),
                new: start..at(one.length()),
                sites: one.sites.iter().map(site).collect(),
                jumps: one.jumps.iter().map(|&offset| at(offset)).collect(),
                arrivals: one.arrivals.iter().map(|way| (at(way.to), one.original.start + u64::from(way.from))).collect(),
            }
        };
        let table = |one: &copies::TableCopy| Table { original: one.original, copy: one.address, form: one.form, entries: one.targets.len() as u64 };
        Self { fragments: copy.fragments.iter().map(fragment).collect(), tables: copy.tables.iter().map(table).collect() }
    }

    /// Addresses of all bytes of the copy: code and jump tables.
    #[cfg(test)]
    pub(crate) fn places(&self) -> Vec<u64> {
        let code = self.fragments.iter().flat_map(|fragment| fragment.new.clone());
        let tables = self.tables.iter().flat_map(|one| one.copy..one.copy + one.entries * one.form.entry_size());
        code.chain(tables).collect()
    }
}

/// Where a jump table is said to be.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) original: u64,
    pub(crate) copy: u64,
    pub(crate) form: TableForm,
    pub(crate) entries: u64,
}

/// Where a function is said to be.
pub(crate) struct Claim<'a> {
    pub(crate) function: usize,
    /// Which of all [`Claims::entries`] are its.
    entries: Range<usize>,
    moved: &'a Moved,
    pub(crate) insertions: &'a [Insertion],
    pub(crate) constants: (u64, &'a [u8]),
    pub(crate) variables: (u64, &'a [u8]),
    /// Whether there is a probe at the function's entry, and at its exits.
    pub(crate) has_entry: bool,
    pub(crate) has_exits: bool,
    /// Whether other regions are inside.
    pub(crate) has_regions_inside: bool,
}

/// A way into moved code: link addresses in the original, of the jump there if there is one, and of the moved entry.
pub(crate) type Entry = (u64, Option<u64>, u64);

/// Copies are made when they are asked for: at any time few are needed.
impl Claim<'_> {
    /// Where the copy with probes is said to be.
    pub(crate) fn probed(&self) -> Copy {
        Copy::of(&self.moved.probed, self.moved.id)
    }

    /// Where the copy without probes is said to be, if there is one.
    fn clean(&self) -> Option<Copy> {
        self.moved.clean.as_ref().map(|clean| Copy::of(clean, self.moved.id))
    }

    /// Where the copy without probes is said to be entered.
    fn clean_entry(&self) -> Option<u64> {
        self.moved.clean.as_deref().map(FunctionCopy::entry)
    }
}

/// What is said of the written image.
pub(crate) struct Claims<'a> {
    pub(crate) functions: Vec<Claim<'a>>,
    /// Of all functions, one after the other, as they are read more often than what else is said of functions.
    pub(crate) entries: Vec<Entry>,
    pub(crate) additions: &'a Additions,
    /// Link addresses.
    pub(crate) slots: u64,
    pub(crate) routines: u64,
    pub(crate) shared_constants: u64,
    pub(crate) shared_variables: u64,
    pub(crate) variables: Range<u64>,
    /// How many regions there are.
    pub(crate) regions: usize,
    /// What stands for `$ORIGIN` in search paths.
    pub(crate) origin: Option<&'a str>,
    /// Whether the original bodies of moved functions are traps.
    pub(crate) poison: bool,
    /// Whether all moved code is unwound instruction by instruction by [`gimli`], and not only where its call-frame instructions leave
    /// doubts: that takes as long as all the rest.
    pub(crate) unwinds_all: bool,
}

impl<'a> Claims<'a> {
    pub(crate) fn new(moved: &'a [Moved], additions: &'a Additions, layout: &Layout, request: &Request<'a>) -> Self {
        let mut entries = Vec::with_capacity(moved.len());
        let claim = |one: &'a Moved| {
            let first = entries.len();
            entries.extend(one.springboards.iter().map(|springboard| (springboard.entry, springboard.at, one.entry(springboard))));
            Claim {
                function: one.function,
                entries: first..entries.len(),
                moved: one,
                insertions: &one.insertions,
                constants: (one.constants.address, &one.constants.bytes),
                variables: (one.variables.address, &one.variables.bytes),
                has_entry: one.filled.entry,
                has_exits: one.filled.exits,
                has_regions_inside: one.filled.brackets && one.regions.iter().any(|region| region.scope != Scope::Function),
            }
        };
        Self {
            functions: moved.iter().map(claim).collect(),
            entries,
            additions,
            slots: layout.slots(),
            routines: layout.routines(),
            shared_constants: layout.shared_constants,
            shared_variables: layout.shared_variables,
            variables: layout.variables.clone(),
            regions: moved.iter().map(|one| one.regions.len()).sum(),
            origin: request.origin,
            poison: request.poison,
            unwinds_all: false,
        }
    }

    /// The ways into a function, the first one through its own entry.
    pub(crate) fn entries_of(&self, claim: &Claim<'_>) -> &[Entry] {
        self.entries.get(claim.entries.clone()).unwrap_or_default()
    }
}

/// What is wrong, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) address: u64,
    pub(crate) what: &'static str,
}

impl Fault {
    pub(crate) const fn new(address: u64, what: &'static str) -> Self {
        Self { address, what }
    }
}

/// Checks the whole image.
pub(crate) fn verify(original: &Image<'_>, program: &Program, bytes: &[u8], claims: &Claims<'_>, threads: Threads) -> Result<(), RewriteError> {
    let fail = |function: &str, fault: Fault| RewriteError::Check { function: function.to_owned(), address: fault.address, what: fault.what };
    let written = Image::parse_as_loaded(bytes).map_err(|_| fail("the headers", Fault::new(0, "the file cannot be read")))?;
    note::check(&written, claims).map_err(|fault| fail("the note", fault))?;
    threads::check(original, &written).map_err(|fault| fail("thread-local variables", fault))?;
    let hooks = Hooks::of(original, claims);
    loader::check(original, &written, claims, &hooks).map_err(|fault| fail("what the loader reads", fault))?;
    let bodies = Bodies::of(claims);
    originals::check(original, &written, claims, (&hooks, &bodies)).map_err(|fault| fail("the original's bytes", fault))?;
    unwinding::check(original, &written, claims).map_err(|fault| fail("the unwind table", fault))?;
    let mut moved = AddressMap::with_capacity_and_hasher(claims.entries.len(), Default::default());
    moved.extend(claims.entries.iter().map(|&(original, _, entry)| (original, entry)));
    additions(&written, claims, &moved).and_then(|()| stubs::check(&written, claims)).map_err(|fault| fail("the probes' own code", fault))?;
    let faults = threads.map_in(&claims.functions, Seen::default, |seen, claim| {
        let walk = Walk { original, written: &written, program, moved: &moved, bodies: &bodies, claims, claim };
        let checked = springboards(&written, claims, claim)
            .and_then(|()| walk.check(&claim.probed(), true, seen))
            .and_then(|()| claim.clean().map_or(Ok(()), |clean| walk.check(&clean, false, seen)));
        checked.err().map(|fault| (claim.function, fault))
    });
    match faults.into_iter().flatten().next() {
        Some((function, fault)) => {
            let name = program.functions.get(function).map_or("", |function| function.name.as_str());
            Err(fail(name, fault))
        }
        None => Ok(()),
    }
}

/// What the probes bring for the image is there, and refers to what it should.
fn additions(written: &Image<'_>, claims: &Claims<'_>, moved: &AddressMap) -> Result<(), Fault> {
    let own = claims.additions;
    block(written, (claims.shared_constants, &own.constants), "constants differ")?;
    block(written, (claims.shared_variables, &own.variables), "variables differ")?;
    let fault = Fault::new(claims.routines, "the routines differ");
    let bytes = written.bytes_at(claims.routines, own.code.len() as u64).ok_or(fault)?;
    let mut expected = own.code.clone();
    for &(at, tail, value) in &own.fields {
        let place = at as usize..at as usize + 4;
        let end = claims.routines + u64::from(at) + u64::from(tail);
        let target = bytes.get(place.clone()).and_then(|field| relative(field, end));
        if target.is_none() || target != address_of(claims, None, moved, value) {
            return Err(Fault::new(end - u64::from(tail), "a routine refers elsewhere than it should"));
        }
        if let (Some(to), Some(from)) = (expected.get_mut(place.clone()), bytes.get(place)) {
            to.copy_from_slice(from);
        }
    }
    if expected != bytes {
        return Err(fault);
    }
    for &(at, routine) in &own.pointers {
        let place = claims.shared_variables + u64::from(at);
        let target = (claims.routines + u64::from(routine)).cast_signed();
        let filled = written.relocations_in(&(place..place + 8));
        if !filled.iter().any(|one| one.address == place && one.kind == RelocationKind::Relative && one.addend == target) {
            return Err(Fault::new(place, "a pointer to a routine is not filled in"));
        }
    }
    Ok(())
}

fn block(written: &Image<'_>, (address, bytes): (u64, &[u8]), what: &'static str) -> Result<(), Fault> {
    let is_equal = bytes.is_empty() || written.bytes_at(address, bytes.len() as u64) == Some(bytes);
    if is_equal { Ok(()) } else { Err(Fault::new(address, what)) }
}

/// What a value stands for.
fn address_of(claims: &Claims<'_>, claim: Option<&Claim<'_>>, moved: &AddressMap, value: Value) -> Option<u64> {
    let (base, at) = match value {
        Value::Region => return None,
        Value::CleanCopy => (claim?.clean_entry()?, 0),
        Value::Code(address) => (moved.get(&address).copied().unwrap_or(address), 0),
        Value::Original(address) => (address, 0),
        Value::VariablesStart => (claims.variables.start, 0),
        Value::VariablesEnd => (claims.variables.end, 0),
        Value::Slots(at) => (claims.slots, at),
        Value::Routine(at) => (claims.routines, at),
        Value::SharedConstant(at) => (claims.shared_constants, at),
        Value::SharedVariable(at) => (claims.shared_variables, at),
        Value::Constant(at) => (claim?.constants.0, at),
        Value::Variable(at) => (claim?.variables.0, at),
    };
    Some(base + u64::from(at))
}

/// The jumps at the original entries land on the moved ones, short ones by a long one elsewhere.
fn springboards(written: &Image<'_>, claims: &Claims<'_>, claim: &Claim<'_>) -> Result<(), Fault> {
    block(written, claim.constants, "constants differ")?;
    block(written, claim.variables, "variables differ")?;
    for &(entry, jump, moved) in claims.entries_of(claim) {
        let Some(jump) = jump else { continue };
        let fault = Fault::new(jump, "the jump at the entry does not lead to the moved entry");
        let is_near = jump == entry || jump == entry + 4;
        let at = match written.bytes_at(jump, 2) {
            Some([0xeb, distance]) => (jump + 2).wrapping_add_signed(i64::from(distance.cast_signed())),
            Some([lead, 0xe9]) if is_lead(*lead) => jump + 1,
            _ => jump,
        };
        let bytes = written.bytes_at(at, 5).ok_or(fault)?;
        let target = relative(bytes.get(1..5).unwrap_or_default(), at + 5);
        if bytes.first() != Some(&0xe9) || target != Some(moved) || !is_near {
            return Err(fault);
        }
    }
    Ok(())
}

/// Whether a byte in front of a jump is a prefix that means nothing to it: a segment, or `REX`.
const fn is_lead(byte: u8) -> bool {
    matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64 | 0x65)
}

/// The target of a 32-bit displacement that counts from `end`.
pub(crate) fn relative(field: &[u8], end: u64) -> Option<u64> {
    let field: [u8; 4] = field.try_into().ok()?;
    Some(end.wrapping_add_signed(i64::from(i32::from_le_bytes(field))))
}
