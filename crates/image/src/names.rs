//! Names as people write them.

use std::borrow::Cow;

use cpp_demangle::{DemangleOptions, Symbol};

/// The name as it stands in the source: C++ and Rust demangled, Fortran's `__work_MOD_busy` as `work::busy`;
/// contained procedures (`inner.0`) without their number, anything else as it is. Suffixes of compilers (`.part.0`, `.constprop.1`) stay readable behind it.
#[must_use]
pub fn demangle(name: &str) -> Cow<'_, str> {
    if let Some(found) = rust(name) {
        return Cow::Owned(found);
    }
    let (stem, suffix) = split_suffix(name);
    if let Some(found) = cpp(stem).or_else(|| fortran(stem)) {
        return Cow::Owned(found + suffix);
    }
    match without_number(suffix) {
        Some(rest) => Cow::Owned(format!("{stem}{rest}")),
        None => Cow::Borrowed(name),
    }
}

/// What follows the number in `.0.constprop.1`. GCC numbers procedures that Fortran programs contain, and nested functions of C, so that those of
/// one name differ; LLVM numbers static functions of one name from several files. Nobody wrote it in any case; clones have words there.
fn without_number(suffix: &str) -> Option<&str> {
    let rest = suffix.strip_prefix('.')?.trim_start_matches(|character: char| character.is_ascii_digit());
    (rest.len() + 1 < suffix.len() && (rest.is_empty() || rest.starts_with('.'))).then_some(rest)
}

/// `_ZN1aEv.constprop.0` is `_ZN1aEv` and `.constprop.0`.
fn split_suffix(name: &str) -> (&str, &str) {
    match name.find('.') {
        Some(at) if at > 0 => name.split_at(at),
        _ => (name, ""),
    }
}

/// Functions of Rust have a hash of 17 characters at their end, or begin with `_R`: to look for more of it in all names of C++ would take long.
fn rust(name: &str) -> Option<String> {
    if !name.contains("17h") && !name.trim_start_matches('_').starts_with('R') {
        return None;
    }
    let found = rustc_demangle::try_demangle(name).ok()?;
    Some(format!("{found:#}"))
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") && !name.starts_with("__Z") {
        return None;
    }
    let symbol = Symbol::new(name.as_bytes()).ok()?;
    // Grown step by step it would be copied again and again.
    let mut shown = String::with_capacity(2 * name.len());
    symbol.structured_demangle(&mut shown, &DemangleOptions::default()).ok()?;
    Some(shown)
}

fn fortran(name: &str) -> Option<String> {
    let (module, procedure) = name.strip_prefix("__")?.split_once("_MOD_")?;
    (!module.is_empty() && !procedure.is_empty()).then(|| format!("{module}::{procedure}"))
}

/// Two lowercase digits for each byte, as build ids are written.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn names_of_four_languages() {
        assert_eq!(demangle("_ZN4work4busyEi"), "work::busy(int)");
        assert_eq!(demangle("_ZNSt6vectorIiSaIiEE9push_backERKi.isra.0"), "std::vector<int, std::allocator<int> >::push_back(int const&).isra.0");
        assert_eq!(demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
        assert_eq!(demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
        let drop = "_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE";
        assert_eq!(demangle(drop), "core::ptr::drop_in_place<alloc::string::String>");
        assert_eq!(demangle("__work_MOD_busy"), "work::busy");
        assert_eq!(demangle("MAIN__"), "MAIN__");
        assert_eq!(demangle("main"), "main");
        assert_eq!(demangle("sort.part.0"), "sort.part.0");
        assert_eq!(demangle("inner.0"), "inner");
        assert_eq!(demangle("inner.12.constprop.0"), "inner.constprop.0");
        assert_eq!(demangle("work._omp_fn.0"), "work._omp_fn.0");
        assert_eq!((demangle("odd."), demangle("odd.1x"), demangle(".0")), ("odd.".into(), "odd.1x".into(), ".0".into()));
    }
}
