//! Names of functions: the best symbol of an address, and what can be told without symbols.

use std::ops::Range;

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use tare_image::{Image, Kind, Symbol};

use crate::addresses::{constant_address, slot};
use crate::decode::{RawFlow, decoder, raw_flow};

/// Tags of what the loader runs first and last.
const DT_INIT: u64 = 12;
const DT_FINI: u64 = 13;

/// What gfortran calls the main program.
pub(crate) const FORTRAN_MAIN: &str = "MAIN__";

/// Addresses of function symbols inside a range, its start left out.
pub(crate) fn entries_inside(image: &Image<'_>, range: &Range<u64>) -> Vec<u64> {
    let all = image.symbols();
    let first = all.partition_point(|symbol| symbol.address <= range.start);
    let end = all.partition_point(|symbol| symbol.address < range.end);
    let inside = all.get(first..end.max(first)).unwrap_or_default().iter();
    let mut found: Vec<u64> = inside.filter(|symbol| symbol.is_function && symbol.is_defined).map(|symbol| symbol.address).collect();
    found.dedup();
    found
}

/// Name and other names of the code at an address.
pub(crate) fn name_at(image: &Image<'_>, address: u64) -> (String, Vec<String>) {
    let mut symbols: Vec<&Symbol<'_>> = image.symbols_at(address).filter(|symbol| names_code(symbol)).collect();
    symbols.sort_by_key(|symbol| (!symbol.is_function, symbol.binding, plainness(symbol.name)));
    let mut names: Vec<String> = Vec::new();
    for symbol in symbols {
        if !names.iter().any(|name| name == symbol.name) {
            names.push(symbol.name.to_owned());
        }
    }
    if names.is_empty() {
        let by_loader = run_by_loader(image).find(|one| one.1 == address);
        return (by_loader.map_or_else(|| by_address(address), |one| one.0.to_owned()), Vec::new());
    }
    let aliases = names.split_off(1);
    (names.swap_remove(0), aliases)
}

/// Orders names: those with few underscores in front and short ones first.
pub(crate) fn plainness(name: &str) -> (usize, usize, &str) {
    (name.bytes().take_while(|&byte| byte == b'_').count(), name.len(), name)
}

/// What a function is called that has no symbol.
pub(crate) fn by_address(entry: u64) -> String {
    format!("fn_{entry:x}")
}

/// What the loader runs first and last, by the dynamic section or, in a static program, by the sections: the functions of
/// the C start-up code that these are, and where.
pub(crate) fn run_by_loader(image: &Image<'_>) -> impl Iterator<Item = (&'static str, u64)> {
    let ways = [("_init", DT_INIT, ".init"), ("_fini", DT_FINI, ".fini")];
    let address =
        move |tag, section| image.dynamic().value(tag).or_else(|| image.section(section).map(tare_image::Section::range).map(|range| range.start));
    ways.into_iter().filter_map(move |(name, tag, section)| Some((name, address(tag, section)?)))
}

/// A function, or a label of assembly without a type.
fn names_code(symbol: &Symbol<'_>) -> bool {
    symbol.is_function || (symbol.kind == 0 && !symbol.name.starts_with(['.', '$']))
}

/// The address of `main`: what `_start` hands to `__libc_start_main` in its first argument.
pub(crate) fn main_function(image: &Image<'_>) -> Option<u64> {
    if image.kind() == Kind::SharedLibrary {
        return None;
    }
    let by_name = image.symbols().iter().find(|symbol| symbol.name == "main" && symbol.is_function && symbol.is_defined);
    if let Some(symbol) = by_name {
        return Some(symbol.address);
    }
    start_arguments(image)?.first().copied().flatten()
}

/// What older C libraries run around `main` (`__libc_csu_init`, `__libc_csu_fini`): further arguments of `__libc_start_main`.
pub(crate) fn around_main(image: &Image<'_>) -> Vec<u64> {
    let arguments = if image.kind() == Kind::SharedLibrary { None } else { start_arguments(image) };
    arguments.into_iter().flatten().skip(1).flatten().collect()
}

/// The code that `_start` hands to `__libc_start_main`: in its first, fourth and fifth argument.
fn start_arguments(image: &Image<'_>) -> Option<[Option<u64>; 3]> {
    let mut arguments = [None; 3];
    for instruction in start_code(image) {
        match raw_flow(&instruction) {
            RawFlow::Next => {}
            RawFlow::Call(_) | RawFlow::IndirectCall => return Some(arguments),
            _ => return None,
        }
        if instruction.op0_kind() == OpKind::Register {
            let register = instruction.op0_register().full_register();
            let number = [Register::RDI, Register::RCX, Register::R8].iter().position(|&one| one == register);
            if let Some(argument) = number.and_then(|number| arguments.get_mut(number)) {
                *argument = code_address(image, &instruction);
            }
        }
    }
    None
}

/// The address of Fortran's main program: what `main` calls behind `_gfortran_set_args`.
pub(crate) fn fortran_main(image: &Image<'_>, main: u64) -> Option<u64> {
    let end = image.fde_at(main).map_or(main, |fde| fde.range.end.min(main.saturating_add(128)));
    let mut has_arguments = false;
    for instruction in &mut decoder(image, &(main..end)) {
        match raw_flow(&instruction) {
            RawFlow::Call(target) if image.text_at(target).is_some() => return has_arguments.then_some(target),
            _ => has_arguments |= called_import(image, &instruction) == Some("_gfortran_set_args"),
        }
    }
    None
}

/// The name of what an instruction calls in another image, by its PLT entry or through a slot.
pub(crate) fn called_import<'a>(image: &Image<'a>, instruction: &Instruction) -> Option<&'a str> {
    match raw_flow(instruction) {
        RawFlow::Call(target) => image.plt_at(target).and_then(|entry| entry.name),
        RawFlow::IndirectCall => image.name_in_slot(slot(instruction)?),
        _ => None,
    }
}

/// At most 32 instructions from the entry on.
fn start_code(image: &Image<'_>) -> Vec<Instruction> {
    let start = image.entry();
    let end = image.text_at(start).map_or(start, |text| text.end.min(start.saturating_add(128)));
    decoder(image, &(start..end)).into_iter().take(32).collect()
}

fn code_address(image: &Image<'_>, instruction: &Instruction) -> Option<u64> {
    let loaded = slot(instruction).filter(|_| instruction.mnemonic() == Mnemonic::Mov);
    let value = loaded.map_or_else(|| constant_address(instruction), |slot| image.pointer_at(slot));
    value.filter(|&address| image.text_at(address).is_some())
}

/// Functions of the C start-up code that run before and after the program's own.
pub(crate) const START_UP: [&str; 8] = [
    "_start",
    "__do_global_dtors_aux",
    "frame_dummy",
    "register_tm_clones",
    "deregister_tm_clones",
    "_dl_relocate_static_pie",
    "__libc_csu_init",
    "__libc_csu_fini",
];
