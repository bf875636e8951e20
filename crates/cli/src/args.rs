//! The command line. What the options mean becomes domain values here, before anything else sees them.

mod measuring;
mod programs;
mod reading;

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::color::Color;
use crate::failure::{Code, Failure};

pub(crate) use measuring::{
    ComparisonFormat, CtlArguments, Job, Measuring, Model, MpiChoice, ProfileArguments, RunArguments, Throttle, ValidateArguments,
};
pub(crate) use programs::{
    EdgeChoice, FilterFormat, InspectArguments, InspectFormat, InstrumentArguments, Level, SelectArguments, SelectFormat, Selection,
};
pub(crate) use reading::{
    Carried, CompareArguments, Compensate, QueryArguments, Ranks, ReportArguments, ReportFormat, ServeArguments, Showing, SidesFormat,
    SimulateArguments, TopArguments, ViewArguments,
};

const AFTER_HELP: &str = "\
Examples:
  tare profile -- mpirun -n 2 ./app input        measure, and print where the
                                                 time went
  tare profile --preset mpi-path -- mpirun -n 4 ./app
                                                 only functions on paths to MPI
  tare validate -- mpirun -n 2 ./app             how close does compensation
                                                 come?
  tare inspect ./app                             what is in this executable?
  tare doctor                                    what this machine offers and
                                                 lacks

Exit status: that of the measured program (a signal as 128 + n).
Errors of our own: 64 usage, 65 bad input, 66 not found, 69 unavailable, 70 internal, 73 cannot write.";

/// Measures parallel programs and takes the weight of the measurement off the result.
#[derive(Debug, Parser)]
#[command(name = "tare", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Colours in text: where a terminal shows them (NO_COLOR and CLICOLOR_FORCE are heeded), always, or never
    #[arg(long, global = true, value_enum, value_name = "WHEN", env = "TARE_COLOR", default_value = "auto")]
    pub(crate) color: Color,
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure a program: analyse, select, instrument a cached copy, run, print the summary
    Profile(ProfileArguments),
    /// Show the functions of an executable or library with their properties
    Inspect(InspectArguments),
    /// Show what would be measured, and why
    Select(SelectArguments),
    /// Write an instrumented copy of an executable or library
    Instrument(InstrumentArguments),
    /// Run an instrumented program (or any MPI program) under the runtime
    Run(RunArguments),
    /// Run a program unmeasured and measured in turn, and show how close compensation comes
    Validate(ValidateArguments),
    /// Show the results of a run
    Report(ReportArguments),
    /// Open the results of a run as a page in the browser
    View(ViewArguments),
    /// Put runs side by side, and say what got slower beyond its uncertainty
    Compare(CompareArguments),
    /// Execute a described message-passing program unmeasured, measured, and compensated under each model
    Simulate(SimulateArguments),
    /// Watch a run in the terminal: ranks, hot regions, waiting, what measuring costs
    Top(TopArguments),
    /// Serve the page of a run as it goes on, and its figures for Prometheus
    Serve(ServeArguments),
    /// Answer a question about a run, also while it goes on
    Query(QueryArguments),
    /// Switch regions off or on while their program runs
    Ctl(CtlArguments),
    /// Say what this machine offers and lacks, with the remedy
    Doctor(DoctorArguments),
    /// Print the script that completes our command lines in a shell
    Completion(CompletionArguments),
    /// Print the manual page of a verb, or write all of them
    Manual(ManualArguments),
}

/// How a document is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// `tare doctor`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare doctor                                    what this machine offers and
                                                 lacks, with remedies
  tare doctor --format json                      the same for programs

Exit status: 0 where measuring works, 69 where something that it needs is missing.")]
pub(crate) struct DoctorArguments {
    /// How to write it
    #[arg(long, value_enum, env = "TARE_FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// A shell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ShellName {
    /// GNU Bash
    Bash,
    /// Z shell
    Zsh,
    /// Fish
    Fish,
}

/// `tare completion`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(tare completion bash)
  tare completion zsh > ~/.zfunc/_tare           with fpath+=~/.zfunc before
                                                 compinit
  tare completion fish > ~/.config/fish/completions/tare.fish
`make install` puts them where the shells look for them.")]
pub(crate) struct CompletionArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: ShellName,
}

/// `tare manual`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare manual profile | man -l -                 read a page
  tare manual -o man1                            write all pages: tare.1,
                                                 tare-profile.1 …")]
pub(crate) struct ManualArguments {
    /// The verb (default: the command itself)
    #[arg(conflicts_with = "output")]
    pub(crate) verb: Option<String>,
    /// Directory for all pages
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// What the parser says, and how we say it.
const PLAIN: [(&str, &str); 4] = [
    (" [possible values", " [known"),
    ("invalid digit found in string", "expected a whole number"),
    ("invalid float literal", "expected a number"),
    ("number too large to fit in target type", "expected a smaller number"),
];

/// The variable from which a wrong value comes, and the option that goes before it, where it does not come from the command line.
fn variable_of(error: &clap::Error) -> Option<(String, String)> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return None };
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else { return None };
    let option = argument.split_whitespace().next()?;
    let is_given = |word: String| word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
    if std::env::args().any(is_given) {
        return None;
    }
    let command = Arguments::command();
    let verb = command.find_subcommand(called_verb()?)?;
    let mut arguments = verb.get_arguments().chain(command.get_arguments());
    let variable = arguments.find(|one| one.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long)))?.get_env()?.to_str()?;
    std::env::var(variable).is_ok_and(|set| set == *value).then(|| (variable.to_string(), option.to_string()))
}

/// What is wrong with a command line, as we say it; `None` where help or the version was asked for.
pub(crate) fn failure(error: &clap::Error) -> Option<Failure> {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let what = text.split("\n\n").next().unwrap_or(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let what = PLAIN.iter().fold(what, |what, (theirs, ours)| what.replace(theirs, ours));
    if let Some((variable, option)) = variable_of(error) {
        return Some(
            Failure::new(Code::Usage, format!("{what}, from {variable} in the environment")).remedy(format!("unset {variable}; or {option} …")),
        );
    }
    let behind = |label: &str| text.lines().find_map(|line| line.trim().strip_prefix(label)).map(|rest| rest.trim().to_string());
    let asks_for_format = matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(argument)) if argument == "--format");
    if asks_for_format && ["Usage: tare profile ", "Usage: tare run "].iter().any(|usage| text.contains(usage)) {
        return Some(Failure::new(Code::Usage, what).remedy("tare report DIR --format json, of the run directory that -o DIR names"));
    }
    let remedy = remedy_of_unknown(error, text).or_else(|| behind("tip:")).or_else(|| behind("Usage:")).unwrap_or_else(help_of_verb);
    Some(Failure::new(Code::Usage, what).remedy(remedy))
}

/// What to do about an argument that the verb does not have: where a command stands without two dashes in front of it, with them; where
/// it is an option, and is written like none of the verb's, the verbs that have it.
fn remedy_of_unknown(error: &clap::Error, text: &str) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument) else {
        return None;
    };
    let option = argument.strip_prefix("--").filter(|_| error.get(ContextKind::SuggestedArg).is_none());
    if let Some(name) = option {
        return Some(verbs_with(name));
    }
    let is_command = !argument.starts_with('-') && text.contains("-- <CMD>");
    is_command.then(called_verb)?.map(|verb| format!("put two dashes in front of the command: tare {verb} -- {argument} …"))
}

/// The verbs that have an option of this name.
fn verbs_with(name: &str) -> String {
    let command = Arguments::command();
    let has_it = |verb: &&clap::Command| verb.get_arguments().any(|one| one.get_long() == Some(name));
    let verbs: Vec<String> = command.get_subcommands().filter(has_it).map(|verb| format!("tare {}", verb.get_name())).collect();
    match verbs.as_slice() {
        [] => help_of_verb(),
        [one] => format!("{one}, which has --{name}; or {}", help_of_verb()),
        [first @ .., last] => format!("{} or {last}, which have --{name}; or {}", first.join(", "), help_of_verb()),
    }
}

/// The verb of the command line, where it stands first.
fn called_verb() -> Option<String> {
    std::env::args().nth(1).filter(|verb| Arguments::command().find_subcommand(verb).is_some())
}

/// How to ask for the help of the verb that was called.
fn help_of_verb() -> String {
    called_verb().map_or_else(|| "tare --help".to_string(), |verb| format!("tare {verb} --help"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> String {
        let error = Arguments::try_parse_from(line.split_whitespace()).expect_err("a wrong line");
        failure(&error).map_or_else(String::new, |failure| failure.to_string())
    }

    #[test]
    fn what_is_wrong_is_said_in_one_sentence_with_the_remedy() {
        let wrong = said("tare profile --model virtul -- app");
        assert!(wrong.starts_with("invalid value 'virtul' for '--model <MODEL>' [known: delay, virtual]\n      try: "), "{wrong}");
        let missing = said("tare instrument app");
        assert!(missing.starts_with("the following required arguments were not provided: --output <OUT>\n      try: tare instrument"), "{missing}");
        for number in ["many", "-1"] {
            assert!(said(&format!("tare inspect app --top {number}")).contains("'--top <N>': expected a whole number"));
        }
        assert!(said("tare top run --interval soon").contains("'--interval <SECONDS>': expected a number"));
        assert!(said("tare profil -- app").contains("'profil'"));
        for verb in ["profile", "run"] {
            let later = said(&format!("tare {verb} --format json -- app"));
            assert!(later.ends_with("try: tare report DIR --format json, of the run directory that -o DIR names"), "{later}");
        }
        let elsewhere = said("tare profile --poison -- app");
        assert!(
            elsewhere.starts_with("unexpected argument '--poison' found\n      try: tare instrument, which has --poison; or tare"),
            "{elsewhere}"
        );
        assert!(said("tare run --preset all -- app").contains("tare profile, tare"), "{}", said("tare run --preset all -- app"));
        assert!(said("tare profile --budgt 2% -- app").contains("--budget"));
        assert_eq!(said("tare --help"), "");
    }

    #[test]
    fn what_is_watched_is_measured_with_the_options_of_profile() {
        let options = |line: &str| Job::options_of(line.split_whitespace().map(Into::into));
        let given = options("tare top --once --preset all --library a,b --exact --trial -o RUN --budget 2% -- ./app --preset x");
        assert_eq!(given, ["--preset=all", "--budget=2%", "--library=a", "--library=b", "--trial=30s", "--exact"]);
        assert!(options("tare top RUN").is_empty());
    }

    #[test]
    fn examples_fit_into_80_columns() {
        let whole = Arguments::command();
        for command in std::iter::once(&whole).chain(whole.get_subcommands()) {
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in after.lines().filter(|line| line.starts_with("  ")) {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
        }
    }

    #[test]
    fn every_verb_that_writes_documents_has_a_schema() {
        for verb in Arguments::command().get_subcommands() {
            let writes =
                |argument: &clap::Arg| argument.get_id() == "format" && argument.get_possible_values().iter().any(|value| value.get_name() == "json");
            if verb.get_arguments().any(writes) {
                let file = format!("{}/../../docs/schema/{}.schema.json", env!("CARGO_MANIFEST_DIR"), verb.get_name());
                assert!(std::path::Path::new(&file).is_file(), "there is no {file}");
            }
        }
    }
}
