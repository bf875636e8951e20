//! Code of languages whose runtimes know where it stands: they walk frames, collect memory, switch stacks or raise exceptions by
//! tables of return addresses, or by tables next to code, that know nothing of copies.

use memchr::memmem;
use tare_image::{Image, Symbol};

use crate::program::Refusal;

/// Texts that stand as C strings of their own in every program of a language, stripped or not, as part of its runtime. They are one
/// text here, so that what is made of this file does not hold them so itself.
const TEXTS: [(Refusal, &str); 2] = [
    (Refusal::OcamlCode, "OCAMLRUNPARAM|Fatal error: exception Invalid_argument(\"index out of bounds\")\n"),
    (Refusal::HaskellCode, "GHCRTS|THUNK_SELECTOR|BLOCKING_QUEUE|ATOMICALLY_FRAME|CATCH_RETRY_FRAME"),
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
    let is_whole = |text: &[u8], at: usize| (at == 0 || constants[at - 1] == 0) && constants.get(at + text.len()) == Some(&0);
    let has = |text: &[u8]| memmem::find_iter(constants, text).any(|at| is_whole(text, at));
    TEXTS.into_iter().find(|(_, texts)| texts.split('|').all(|text| has(text.as_bytes()))).map(|(language, _)| language)
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
