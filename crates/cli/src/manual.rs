//! Pages of the manual, in the language of `man`, from the definition of the command line.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::Arguments;

/// Of when the manual is: the date that the changelog has for this version.
const DATED: &str = "2026-11-24";

/// A page of the manual.
pub(crate) struct Page {
    /// Name of its file, such as `tare-profile.1`.
    pub(crate) file: String,
    /// The verb; empty for the page of the command itself.
    pub(crate) verb: String,
    /// What `man` reads.
    pub(crate) text: Vec<u8>,
}

/// The page of the command, and one for each verb.
pub(crate) fn pages() -> io::Result<Vec<Page>> {
    let mut whole = Arguments::command().disable_help_subcommand(true);
    whole.build();
    let verbs: Vec<&Command> = whole.get_subcommands().filter(|verb| !verb.is_hide_set()).collect();
    let of_verb = |verb: &&Command| -> io::Result<Page> {
        let name = verb.get_name().to_string();
        Ok(Page { file: format!("tare-{name}.1"), verb: name, text: page((*verb).clone(), &["tare(1)".to_string()])? })
    };
    let others: Vec<String> = verbs.iter().map(|verb| format!("tare-{}(1)", verb.get_name())).collect();
    let mut pages = vec![Page { file: "tare.1".to_string(), verb: String::new(), text: page(whole.clone(), &others)? }];
    for verb in &verbs {
        pages.push(of_verb(verb)?);
    }
    Ok(pages)
}

fn page(command: Command, others: &[String]) -> io::Result<Vec<u8>> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_verbs = command.has_subcommands();
    let man = Man::new(command.clone()).date(DATED).source(concat!("tare ", env!("CARGO_PKG_VERSION"))).manual("Tareweight");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    synopsis(&mut text, &command)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if has_verbs {
        man.render_subcommands_section(&mut text)?;
    }
    examples(&mut text, &after)?;
    writeln!(text, ".SH \"SEE ALSO\"\n{}", others.join(", ").replace('-', "\\-"))?;
    Ok(text)
}

/// How the command is called: options with their values, then what stands without a name.
fn synopsis(text: &mut Vec<u8>, command: &Command) -> io::Result<()> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    write!(text, ".SH SYNOPSIS\n\\fB{}\\fR", name.replace('-', "\\-"))?;
    for option in command.get_arguments().filter(|argument| !argument.is_positional() && !argument.is_hide_set()) {
        let long = option.get_long().map(|long| format!("--{long}"));
        let Some(flag) = long.or_else(|| option.get_short().map(|short| format!("-{short}"))) else { continue };
        let value = if option.get_action().takes_values() { value_name(option) } else { String::new() };
        write!(text, " [\\fB{}\\fR{}]", flag.replace('-', "\\-"), if value.is_empty() { value } else { format!(" \\fI{value}\\fR") })?;
    }
    if command.has_subcommands() {
        write!(text, " \\fIVERB\\fR")?;
    }
    for place in command.get_positionals() {
        let (open, close) = if place.is_required_set() { ("", "") } else { ("[", "]") };
        let more = if place.get_num_args().is_some_and(|range| range.max_values() > 1) { "..." } else { "" };
        write!(text, " {}{open}\\fI{}\\fR{more}{close}", if place.is_last_set() { "\\-\\- " } else { "" }, value_name(place))?;
    }
    writeln!(text)
}

fn value_name(argument: &clap::Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    if names.is_empty() { argument.get_id().as_str().to_uppercase() } else { names.join(" ") }.replace('-', "\\-")
}

/// What stands behind the options in `--help`, line by line as it stands there.
fn examples(text: &mut Vec<u8>, after: &str) -> io::Result<()> {
    let after = after.strip_prefix("Examples:\n").unwrap_or(after);
    if after.is_empty() {
        return Ok(());
    }
    writeln!(text, ".SH EXAMPLES\n.nf")?;
    for line in after.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // A line that begins with a point or a quote would be an order to `man`.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        writeln!(text, "{guard}{line}")?;
    }
    writeln!(text, ".fi")
}
