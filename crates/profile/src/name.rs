//! A name for people, made when it is first asked for: to demangle all names of a large program takes longer than most
//! questions about its run, and most answers show few of them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::OnceLock;

use tare_format::description::{self, RegionKind};

/// The name of a region as people read it: demangled; `main` for the main program of C and Fortran.
#[derive(Clone, Default)]
pub struct Name {
    made: OnceLock<String>,
    /// What it is made from, where it was not given.
    from: Option<Box<Mangled>>,
}

/// What a description says of a region's name.
#[derive(Clone)]
struct Mangled {
    kind: RegionKind,
    name: String,
    owner: String,
    number: u32,
}

impl Name {
    /// The name of a region that a description holds.
    pub(crate) fn of(region: &description::Region) -> Self {
        let from = Mangled { kind: region.kind, name: region.name.clone(), owner: region.owner.clone(), number: region.number };
        Self { made: OnceLock::new(), from: Some(Box::new(from)) }
    }

    /// The name of a function as its image has it.
    pub(crate) fn of_function(raw: &str) -> Self {
        Self::from(function_name(raw))
    }
}

impl Mangled {
    fn shown(&self) -> String {
        let name = if self.kind == RegionKind::CallSite { callee_name(&self.name) } else { function_name(&self.name) };
        let owner = || function_name(&self.owner);
        match self.kind {
            RegionKind::Loop => format!("loop {} of {}", self.number + 1, owner()),
            RegionKind::Iteration => format!("iteration of loop {} of {}", self.number + 1, owner()),
            RegionKind::CallSite if name.is_empty() => format!("indirect call {} in {}", self.number + 1, owner()),
            RegionKind::CallSite => format!("call {} of {name} in {}", self.number + 1, owner()),
            _ => name,
        }
    }
}

fn function_name(raw: &str) -> String {
    match raw {
        "MAIN__" => "main".to_string(),
        _ => tare_image::demangle(raw).into_owned(),
    }
}

/// What a call site calls. Fortran's names of MPI, such as `mpi_reduce_` and `mpi_reduce_f08_`, are those of the operations: the standard keeps
/// names that begin so to itself.
fn callee_name(raw: &str) -> String {
    let of_fortran = raw.strip_suffix('_').map(|name| name.trim_end_matches('_')).and_then(|name| name.strip_prefix("mpi_"));
    let bound = |name| ["_f08ts", "_f08"].iter().find_map(|binding| str::strip_suffix(name, binding)).unwrap_or(name);
    match of_fortran.map(bound).and_then(|name| name.split_at_checked(1)) {
        Some((first, rest)) => format!("MPI_{}{rest}", first.to_ascii_uppercase()),
        None => function_name(raw),
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.made.get_or_init(|| self.from.as_ref().map(|from| from.shown()).unwrap_or_default())
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self { made: OnceLock::from(name), from: None }
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self::from(name.to_string())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Name {}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialEq<String> for Name {
    fn eq(&self, other: &String) -> bool {
        **self == **other
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_mpi_in_fortran_is_called_as_the_operation() {
        for (raw, shown) in [
            ("mpi_reduce_", "MPI_Reduce"),
            ("mpi_comm_rank__", "MPI_Comm_rank"),
            ("mpi_cart_create_f08_", "MPI_Cart_create"),
            ("mpi_isend_f08ts_", "MPI_Isend"),
            ("MPI_Send", "MPI_Send"),
            ("mpi_", "mpi_"),
            ("exchange_", "exchange_"),
        ] {
            assert_eq!(callee_name(raw), shown, "{raw}");
        }
    }

    #[test]
    fn a_name_is_made_once_and_compares_as_text() {
        let call = description::Region {
            kind: RegionKind::CallSite,
            name: "_ZN4work4busyEi".into(),
            owner: "MAIN__".into(),
            number: 1,
            ..Default::default()
        };
        let name = Name::of(&call);
        assert!(name.made.get().is_none(), "nobody has asked yet");
        assert_eq!(name, "call 2 of work::busy(int) in main");
        assert_eq!(name, Name::from("call 2 of work::busy(int) in main"));
    }
}
