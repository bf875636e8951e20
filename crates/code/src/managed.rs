//! Code of languages whose runtimes know where it stands: they walk frames, collect memory, switch stacks or raise exceptions by
//! tables of return addresses, or by tables next to code, that know nothing of copies.

use memchr::memmem;
use tare_image::{Image, Symbol};

use crate::program::Refusal;

/// Texts that stand in every program of a language, stripped or not, as part of its runtime.
const TEXTS: [(Refusal, [&[u8]; 2]); 2] = [
    (Refusal::OcamlCode, [b"CAMLRUNPARAM\0", b"Fatal error: exception Invalid_argument(\"index out of bounds\")\n"]),
    (Refusal::HaskellCode, [b"GHCRTS\0", b"THUNK_SELECTOR\0"]),
];

/// Why no function of an image is moved, if so: the language whose compiler made some of them.
pub(crate) fn language(image: &Image<'_>) -> Option<Refusal> {
    if is_go(image) {
        return Some(Refusal::GoCode);
    }
    let mut symbols = image.symbols().iter().chain(image.dynamic_symbols());
    let named = symbols.find_map(|symbol| by_symbol(symbol));
    let named = named.filter(|language| *language != Refusal::AroundV8Builtins || v8_builtins(image).is_empty());
    named.or_else(|| by_texts(image))
}

/// Whether Go's linker made the image: it then has Go's table of program counters, and its note.
fn is_go(image: &Image<'_>) -> bool {
    let has_table = image.sections().iter().any(|section| section.name.ends_with("gopclntab"));
    has_table || image.notes().iter().any(|note| note.owner.trim_end_matches('\0') == "Go")
}

/// The language of what a symbol names: images of OCaml's native compiler and the runtime that walks their frames find each other
/// by them, and so does code of GHC its runtime. V8 has a function that knows where its builtins stand.
fn by_symbol(symbol: &Symbol<'_>) -> Option<Refusal> {
    const OCAML: [&str; 3] = ["caml_frametable", "caml_init_frame_descriptors", "caml_next_frame_descriptor"];
    let name = symbol.name;
    if OCAML.contains(&name) || name.starts_with("caml") && name.ends_with("__frametable") {
        return Some(Refusal::OcamlCode);
    }
    if symbol.is_defined && name == "_ZN2v88internal23DefaultEmbeddedBlobCodeEv" {
        return Some(Refusal::AroundV8Builtins);
    }
    (name.starts_with("stg_") && name.ends_with("_info")).then_some(Refusal::HaskellCode)
}

fn by_texts(image: &Image<'_>) -> Option<Refusal> {
    let section = image.sections().iter().find(|section| section.name == ".rodata")?;
    let constants = image.bytes_at(section.address, section.size)?;
    let has_all = |texts: &[&[u8]]| texts.iter().all(|text| memmem::find(constants, text).is_some());
    TEXTS.into_iter().find(|(_, texts)| has_all(texts)).map(|(language, _)| language)
}

/// Entries of the functions that V8 compiled in advance; there are none without the one that enters its interpreter.
pub(crate) fn v8_builtins(image: &Image<'_>) -> Vec<u64> {
    let symbols = image.symbols();
    let is_v8 = symbols.iter().any(|symbol| symbol.name == "Builtins_InterpreterEntryTrampoline");
    let builtins = symbols.iter().filter(|symbol| is_v8 && symbol.name.starts_with("Builtins_"));
    let mut entries: Vec<u64> = builtins.map(|symbol| symbol.address).collect();
    entries.sort_unstable();
    entries
}
