//! The bytes of the new segments: copies with their address-dependent fields filled in.
//!
//! All addresses are known by now; what cannot be reached by 32 bits is an error of the whole image, since the
//! segments either lie near each other or do not.

use tare_code::TableForm;

use crate::addresses::AddressMap;
use crate::copies::{Fragment, FunctionCopy, TableCopy, Target};
use crate::displacement::displacement;
use crate::error::RewriteError;
use crate::insertion::{Additions, Value};
use crate::layout::Layout;
use crate::plan::Moved;
use crate::unwind::lsda::ExceptionTable;

/// Entries of moved functions and where they are now.
pub(crate) struct Entries {
    moved: AddressMap,
}

impl Entries {
    pub(crate) fn new(moved: &[Moved]) -> Self {
        let pairs = moved.iter().flat_map(|one| one.springboards.iter().map(|springboard| (springboard.entry, one.entry(springboard))));
        let mut entries = AddressMap::with_capacity_and_hasher(moved.len(), Default::default());
        entries.extend(pairs);
        Self { moved: entries }
    }

    /// Where control goes for an address.
    fn code(&self, address: u64) -> u64 {
        self.moved.get(&address).copied().unwrap_or(address)
    }
}

const TOO_FAR: RewriteError = RewriteError::TooFar { what: "moved code" };

/// The part of the file that holds the new segments, written by link address.
pub(crate) struct Window<'a> {
    /// Link address of the first byte.
    pub(crate) start: u64,
    pub(crate) bytes: &'a mut [u8],
}

impl Window<'_> {
    pub(crate) fn put(&mut self, address: u64, bytes: &[u8]) -> Result<(), RewriteError> {
        let at = usize::try_from(address.wrapping_sub(self.start)).map_err(|_| TOO_FAR)?;
        let place = self.bytes.get_mut(at..at + bytes.len()).ok_or(TOO_FAR)?;
        place.copy_from_slice(bytes);
        Ok(())
    }

    /// Puts a field.
    fn field(&mut self, address: u64, bytes: [u8; 4]) -> Result<(), RewriteError> {
        let at = usize::try_from(address.wrapping_sub(self.start)).map_err(|_| TOO_FAR)?;
        let place = self.bytes.get_mut(at..).and_then(|place| place.first_chunk_mut()).ok_or(TOO_FAR)?;
        *place = bytes;
        Ok(())
    }
}

/// Writes what the probes bring, code, jump tables and exception tables.
pub(crate) fn write(window: &mut Window<'_>, moved: &[Moved], additions: &Additions, layout: &Layout) -> Result<(), RewriteError> {
    let entries = Entries::new(moved);
    self::additions(window, additions, layout, &entries)?;
    for one in moved {
        let clean = one.clean.as_deref().map(FunctionCopy::entry);
        window.put(one.constants.address, &one.constants.bytes)?;
        window.put(one.variables.address, &one.variables.bytes)?;
        for copy in one.copies() {
            for fragment in &copy.fragments {
                self::fragment(window, copy, fragment, &entries)?;
                let values = Values { layout, entries: &entries, moved: Some((one, clean)) };
                sites(window, one, fragment, &values)?;
            }
            for table in &copy.tables {
                self::table(window, copy, table)?;
            }
            for table in copy.frames.iter().filter_map(|frame| frame.exceptions.as_ref()) {
                exceptions(window, copy, table, layout)?;
            }
        }
    }
    Ok(())
}

fn additions(window: &mut Window<'_>, additions: &Additions, layout: &Layout, entries: &Entries) -> Result<(), RewriteError> {
    window.put(layout.shared_constants, &additions.constants)?;
    window.put(layout.shared_variables, &additions.variables)?;
    window.put(layout.routines(), &additions.code)?;
    let values = Values { layout, entries, moved: None };
    for &(at, tail, value) in &additions.fields {
        let field = layout.routines() + u64::from(at);
        let target = values.address(value).ok_or(TOO_FAR)?;
        window.field(field, displacement(target, field + u64::from(tail)).ok_or(TOO_FAR)?)?;
    }
    Ok(())
}

/// What the fields of insertions hold.
pub(crate) struct Values<'a> {
    layout: &'a Layout,
    entries: &'a Entries,
    /// The function, and the entry of its clean copy.
    moved: Option<(&'a Moved, Option<u64>)>,
}

impl Values<'_> {
    /// The address that a value stands for; `None` where it has none.
    fn address(&self, value: Value) -> Option<u64> {
        let moved = self.moved.map(|(moved, _)| moved);
        Some(match value {
            Value::Region => return None,
            Value::CleanCopy => self.moved?.1?,
            Value::Code(address) => self.entries.code(address),
            Value::Original(address) => address,
            Value::VariablesStart => self.layout.variables.start,
            Value::VariablesEnd => self.layout.variables.end,
            Value::Slots(at) => self.layout.slots() + u64::from(at),
            Value::Routine(at) => self.layout.routines() + u64::from(at),
            Value::SharedConstant(at) => self.layout.shared_constants + u64::from(at),
            Value::SharedVariable(at) => self.layout.shared_variables + u64::from(at),
            Value::Constant(at) => moved?.constants.address + u64::from(at),
            Value::Variable(at) => moved?.variables.address + u64::from(at),
        })
    }
}

fn fragment(window: &mut Window<'_>, copy: &FunctionCopy, fragment: &Fragment, entries: &Entries) -> Result<(), RewriteError> {
    window.put(fragment.address, &fragment.bytes)?;
    for fixup in &fragment.fixups {
        let target = address_of(copy, fixup.target, entries);
        let field = fragment.address + u64::from(fixup.at);
        let value = if fixup.is_absolute {
            // Such an operand is sign-extended: half of its range is enough for addresses of code and tables.
            i32::try_from(target).map_err(|_| TOO_FAR)?.to_le_bytes()
        } else {
            displacement(target, field + u64::from(fixup.tail)).ok_or(TOO_FAR)?
        };
        window.field(field, value)?;
    }
    Ok(())
}

fn address_of(copy: &FunctionCopy, target: Target, entries: &Entries) -> u64 {
    match target {
        Target::Code(address) => entries.code(address),
        other => own_address_of(copy, other),
    }
}

/// The address that a target stands for in its own copy and the original.
pub(crate) fn own_address_of(copy: &FunctionCopy, target: Target) -> u64 {
    match target {
        Target::Code(address) | Target::Data(address) => address,
        Target::Label { part, offset } => copy.address(part, offset),
        Target::Table { table, delta } => copy.table_address(table, delta),
    }
}

fn sites(window: &mut Window<'_>, one: &Moved, fragment: &Fragment, values: &Values<'_>) -> Result<(), RewriteError> {
    for site in &fragment.sites {
        let address = fragment.address + u64::from(site.at);
        let Some(insertion) = one.insertions.get(site.insertion as usize) else { continue };
        for field in insertion.fields.iter() {
            let at = address + u64::from(field.at);
            let value = match field.value {
                Value::Region => (one.id + site.region).to_le_bytes(),
                value => {
                    let target = values.address(value).ok_or(TOO_FAR)?;
                    displacement(target, at + u64::from(field.tail)).ok_or(TOO_FAR)?
                }
            };
            window.field(at, value)?;
        }
    }
    Ok(())
}

fn table(window: &mut Window<'_>, copy: &FunctionCopy, table: &TableCopy) -> Result<(), RewriteError> {
    for (&target, address) in table.targets.iter().zip((table.address..).step_by(table.form.entry_size() as usize)) {
        let target = own_address_of(copy, target);
        match (table.form, table.form.origin(table.address)) {
            (_, Some(origin)) => window.put(address, &displacement(target, origin).ok_or(TOO_FAR)?)?,
            (TableForm::Absolute64 | TableForm::Relocated64, None) => window.put(address, &target.to_le_bytes())?,
            // Functions with such jumps are never copied.
            (TableForm::Code { .. } | TableForm::Relative32 | TableForm::Distance32 { .. }, None) => {}
        }
    }
    Ok(())
}

fn exceptions(window: &mut Window<'_>, copy: &FunctionCopy, table: &ExceptionTable, layout: &Layout) -> Result<(), RewriteError> {
    window.put(table.address, &table.bytes)?;
    let base = layout.landing_base();
    if let Some(at) = table.base_at {
        let field = table.address + u64::from(at);
        window.put(field, &displacement(base, field).ok_or(TOO_FAR)?)?;
    }
    for &(at, target) in &table.landings {
        let distance = own_address_of(copy, target).wrapping_sub(base);
        let distance = u32::try_from(distance).map_err(|_| TOO_FAR)?;
        window.put(table.address + u64::from(at), &distance.to_le_bytes())?;
    }
    for &(at, target) in &table.types {
        let field = table.address + u64::from(at);
        window.put(field, &displacement(target, field).ok_or(TOO_FAR)?)?;
    }
    Ok(())
}
