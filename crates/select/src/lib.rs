//! Which functions are worth measuring, and why: the filters that paper 2 (J. Mußler, D. Lorenz, F. Wolf:
//! *Reducing the Overhead of Direct Application Instrumentation Using Prior Static Analysis*, Euro-Par 2011)
//! evaluates, as presets.
//!
//! * [`Preset`]: the filters by their names on the command line.
//! * [`choose`]: which functions are let in, and the reason for each that is and each that is not.
//! * [`Facts`], [`decide`]: the same for functions of which nothing else is known.
//!
//! What always holds: every function is selected, rejected, or of a kind that is never instrumented; `main` is
//! always selected; the same facts give the same selection.
//!
//! What is absent: no file is opened, and nothing here knows how a function would be instrumented.

mod facts;
mod preset;

use tare_code::{Function, Metrics, Program};

pub use facts::Facts;
pub use preset::{Preset, UnknownPreset};

/// A choice of functions. Indices are those of the functions that were chosen from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection {
    /// Functions to be measured.
    pub selected: Vec<Decision>,
    /// Functions that are not.
    pub rejected: Vec<Decision>,
}

/// A function with the reason for its treatment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Index of the function.
    pub function: usize,
    /// The reason: a phrase, and behind a colon the function's own figure where there is one.
    pub reason: String,
}

/// Chooses among the functions of a program. `metrics` is asked for a function's numbers, and only where the
/// preset depends on them.
#[must_use]
pub fn choose(program: &Program, preset: Preset, metrics: impl FnMut(&Function) -> Metrics) -> Selection {
    decide(&facts::of_program(program, preset, metrics), preset)
}

/// Chooses among functions by their facts.
#[must_use]
pub fn decide(functions: &[Facts], preset: Preset) -> Selection {
    let mut selection = Selection::default();
    for (function, facts) in functions.iter().enumerate().filter(|(_, facts)| !facts.never_instrumented) {
        let (is_selected, reason) = if facts.is_main { (true, "main program".to_string()) } else { preset.judges(facts) };
        let list = if is_selected { &mut selection.selected } else { &mut selection.rejected };
        list.push(Decision { function, reason });
    }
    selection
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(cyclomatic: usize, lines: Option<u32>, instructions: usize, reaches_mpi: bool) -> Facts {
        Facts { cyclomatic, lines, instructions, reaches_mpi, ..Facts::default() }
    }

    /// A getter, a branch, a loop with a branch on the way to MPI, and main.
    fn program() -> Vec<Facts> {
        vec![
            facts(1, Some(1), 3, false),
            facts(2, Some(5), 12, false),
            facts(3, Some(40), 200, true),
            Facts { is_main: true, ..facts(1, Some(2), 9, false) },
            Facts { never_instrumented: true, ..facts(9, None, 90, true) },
        ]
    }

    fn selected(preset: Preset) -> Vec<usize> {
        decide(&program(), preset).selected.iter().map(|decision| decision.function).collect()
    }

    #[test]
    fn presets_keep_what_paper_2_keeps_and_always_main() {
        assert_eq!(selected(Preset::All), [0, 1, 2, 3]);
        assert_eq!(selected(Preset::Cyclomatic2), [1, 2, 3]);
        assert_eq!(selected(Preset::Cyclomatic3), [2, 3]);
        assert_eq!(selected(Preset::Lines5), [1, 2, 3]);
        assert_eq!(selected(Preset::MpiPath), [2, 3]);
        assert_eq!(selected(Preset::MpiPathAndCyclomatic3), [2, 3]);
    }

    #[test]
    fn the_union_keeps_complex_functions_off_the_path_and_simple_ones_on_it() {
        let functions = [facts(7, None, 50, false), facts(1, None, 5, true), facts(2, None, 5, false)];
        let selection = decide(&functions, Preset::MpiPathAndCyclomatic3);
        let reasons: Vec<&str> = selection.selected.iter().map(|decision| decision.reason.as_str()).collect();
        assert_eq!(reasons, ["cyclomatic complexity of 3 or more: 7", "on a path to MPI"]);
        assert_eq!(selection.rejected[0].reason, "no path to MPI, and cyclomatic complexity below 3: 2");
    }

    #[test]
    fn every_function_is_decided_or_never_instrumented() {
        for preset in Preset::ALL {
            let selection = decide(&program(), preset);
            assert_eq!(selection.selected.len() + selection.rejected.len(), 4, "{preset}");
            assert!(selection.selected.iter().chain(&selection.rejected).all(|decision| !decision.reason.is_empty()));
        }
    }

    #[test]
    fn without_line_information_instructions_stand_for_lines_and_the_reason_says_so() {
        let functions = [facts(1, None, 19, false), facts(1, None, 20, false)];
        let selection = decide(&functions, Preset::Lines5);
        assert_eq!(selection.rejected[0].reason, "lines unknown, below 20 instructions: 19");
        assert_eq!(selection.selected[0].reason, "lines unknown, 20 instructions or more: 20");
    }

    #[test]
    fn names_of_presets_read_back_and_an_unknown_one_lists_them() {
        for preset in Preset::ALL {
            assert_eq!(preset.to_string().parse(), Ok(preset));
        }
        let error = "cc4".parse::<Preset>().expect_err("there is no such preset");
        assert_eq!(error.to_string(), "unknown preset `cc4`; known are all, mpi-path, cc2, cc3, loc5, mpi-path+cc3");
    }
}
