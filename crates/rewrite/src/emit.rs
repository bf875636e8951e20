//! The bytes of the new segments: copies with their address-dependent fields filled in.
//!
//! All addresses are known by now; what cannot be reached by 32 bits is an error of the whole image, since the
//! segments either lie near each other or do not.

use tare_code::TableForm;

use crate::addresses::AddressMap;
use crate::copies::{Fragment, FunctionCopy, SiteKind, TableCopy, Target};
use crate::error::RewriteError;
use crate::layout::Layout;
use crate::plan::Moved;
use crate::sites::{LEAF_BRANCH_END, displacement, stub_offset, stubs};
use crate::unwind::lsda::ExceptionTable;

/// Entries of moved functions and where they are now.
pub(crate) struct Entries {
    moved: AddressMap,
}

impl Entries {
    pub(crate) fn new(moved: &[Moved]) -> Self {
        let pairs = moved.iter().filter_map(|one| {
            let fragment = one.probed.fragments.first()?;
            Some((fragment.original.start, fragment.address))
        });
        Self { moved: pairs.collect() }
    }

    pub(crate) fn get(&self, entry: u64) -> Option<u64> {
        self.moved.get(&entry).copied()
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
}

/// Writes stubs, code, jump tables and exception tables.
pub(crate) fn write(window: &mut Window<'_>, moved: &[Moved], layout: &Layout) -> Result<(), RewriteError> {
    let entries = Entries::new(moved);
    window.put(layout.stubs(), &stubs(layout.stubs(), layout.slots()).ok_or(TOO_FAR)?)?;
    for one in moved {
        let clean = one.clean.as_ref().map(FunctionCopy::entry);
        for copy in one.copies() {
            for fragment in &copy.fragments {
                self::fragment(window, copy, fragment, &entries)?;
                sites(window, fragment, one.id, clean, layout)?;
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

fn fragment(window: &mut Window<'_>, copy: &FunctionCopy, fragment: &Fragment, entries: &Entries) -> Result<(), RewriteError> {
    window.put(fragment.address, &fragment.bytes)?;
    for fixup in &fragment.fixups {
        let target = copy.address_of(fixup.target, |entry| entries.get(entry));
        let field = fragment.address + u64::from(fixup.at);
        let value = if fixup.is_absolute {
            // Such an operand is sign-extended: half of its range is enough for addresses of code and tables.
            i32::try_from(target).map_err(|_| TOO_FAR)?.to_le_bytes()
        } else {
            displacement(target, field + u64::from(fixup.tail)).ok_or(TOO_FAR)?
        };
        window.put(field, &value)?;
    }
    Ok(())
}

fn sites(window: &mut Window<'_>, fragment: &Fragment, id: u32, clean: Option<u64>, layout: &Layout) -> Result<(), RewriteError> {
    for site in &fragment.sites {
        let address = fragment.address + u64::from(site.at);
        let stub = layout.stubs() + stub_offset(site.kind);
        window.put(address + 1, &displacement(stub, address + 5).ok_or(TOO_FAR)?)?;
        window.put(address + site.kind.id_at() as u64, &id.to_le_bytes())?;
        if let (SiteKind::EnterLeaf, Some(clean)) = (site.kind, clean) {
            let end = address + LEAF_BRANCH_END as u64;
            window.put(end - 4, &displacement(clean, end).ok_or(TOO_FAR)?)?;
        }
    }
    Ok(())
}

fn table(window: &mut Window<'_>, copy: &FunctionCopy, table: &TableCopy) -> Result<(), RewriteError> {
    for (&target, address) in table.targets.iter().zip((table.address..).step_by(entry_step(table.form))) {
        let target = copy.address_of(target, |_| None);
        match table.form {
            TableForm::Relative32 => window.put(address, &displacement(target, table.address).ok_or(TOO_FAR)?)?,
            TableForm::Absolute64 | TableForm::Relocated64 => window.put(address, &target.to_le_bytes())?,
        }
    }
    Ok(())
}

/// Bytes from one entry of a jump table to the next.
pub(crate) const fn entry_step(form: TableForm) -> usize {
    match form {
        TableForm::Relative32 => 4,
        TableForm::Absolute64 | TableForm::Relocated64 => 8,
    }
}

fn exceptions(window: &mut Window<'_>, copy: &FunctionCopy, table: &ExceptionTable, layout: &Layout) -> Result<(), RewriteError> {
    window.put(table.address, &table.bytes)?;
    let base = layout.landing_base();
    if let Some(at) = table.base_at {
        let field = table.address + u64::from(at);
        window.put(field, &displacement(base, field).ok_or(TOO_FAR)?)?;
    }
    for &(at, target) in &table.landings {
        let target: Target = target;
        let distance = copy.address_of(target, |_| None).wrapping_sub(base);
        let distance = u32::try_from(distance).map_err(|_| TOO_FAR)?;
        window.put(table.address + u64::from(at), &distance.to_le_bytes())?;
    }
    for &(at, target) in &table.types {
        let field = table.address + u64::from(at);
        window.put(field, &displacement(target, field).ok_or(TOO_FAR)?)?;
    }
    Ok(())
}
