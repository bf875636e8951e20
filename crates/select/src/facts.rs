//! What a filter needs to know of a function.

use tare_code::{Function, Metrics, Program, Refusal};

use crate::preset::Preset;

/// Properties of one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// It is the program's main function.
    pub is_main: bool,
    /// It is of a kind that is never instrumented: start-up code, PLT, ifunc resolver.
    pub never_instrumented: bool,
    /// Cyclomatic complexity in paper 2's variant, which counts exits.
    pub cyclomatic: usize,
    /// Lines of code between its first entry and its last exit; `None` where unknown.
    pub lines: Option<u32>,
    /// Instructions.
    pub instructions: usize,
    /// An MPI function can be reached from it by calls that are known statically. Calls through pointers and
    /// virtual functions are not followed, as in paper 2.
    pub reaches_mpi: bool,
}

/// What gfortran calls the main program.
const FORTRAN_MAIN: &str = "MAIN__";

/// The facts that a preset depends on, for every function of a program.
pub(crate) fn of_program(program: &Program, preset: Preset, mut metrics: impl FnMut(&Function) -> Metrics) -> Vec<Facts> {
    let distances = if preset.follows_calls() { program.distances_to(&is_mpi) } else { Vec::new() };
    let is_fortran = program.functions.iter().any(|function| function.name == FORTRAN_MAIN);
    let facts = |(index, function): (usize, &Function)| {
        let metrics = if preset.counts() { metrics(function) } else { Metrics::default() };
        Facts {
            is_main: if is_fortran { function.name == FORTRAN_MAIN } else { program.main() == Some(index) },
            // In a Fortran program the C function `main` is start-up code that calls the main program.
            never_instrumented: is_never_instrumented(function) || (is_fortran && program.main() == Some(index)),
            cyclomatic: metrics.cyclomatic,
            lines: metrics.source.map(|source| source.lines),
            instructions: metrics.instructions,
            reaches_mpi: distances.get(index).is_some_and(Option::is_some),
        }
    };
    program.functions.iter().enumerate().map(facts).collect()
}

/// Start-up code, PLT entries and resolvers are no functions of the programmer's.
fn is_never_instrumented(function: &Function) -> bool {
    matches!(function.refusal, Some(Refusal::StartUp | Refusal::IfuncResolver | Refusal::OutsideText))
}

/// Whether a raw name is a function of MPI: `MPI_Send`, `PMPI_Send`, and Fortran's `mpi_send_`, `mpi_send_f08_`,
/// `pmpi_send__`.
fn is_mpi(name: &str) -> bool {
    let is_c = name.starts_with("MPI_") || name.starts_with("PMPI_");
    let is_fortran = name.ends_with('_') && (name.starts_with("mpi_") || name.starts_with("pmpi_"));
    is_c || is_fortran
}

#[cfg(test)]
mod tests {
    use super::is_mpi;

    #[test]
    fn names_of_mpi_functions_in_three_languages() {
        for name in ["MPI_Send", "PMPI_Wait", "mpi_send_", "mpi_init_f08_", "pmpi_recv__"] {
            assert!(is_mpi(name), "{name}");
        }
        for name in ["mpi_exchange", "compute_", "ompi_mpi_init", "main"] {
            assert!(!is_mpi(name), "{name}");
        }
    }
}
