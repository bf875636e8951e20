//! The first phases of verbs that measure a command: what is chosen, with a trial run where one is wanted, and the copies.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use tare_report::shell;

use crate::args::{Job, Selection};
use crate::choice::Choice;
use crate::failure::Failure;
use crate::instrumenting::{self, Prepared};
use crate::launch;
use crate::measured::Setting;
use crate::other_tools;
use crate::trial;

impl Job {
    /// The options that say what is measured, for the record of the run.
    pub(crate) fn chosen(&self) -> String {
        let Selection { preset, filter, budget, from_run, filter_format, levels } = &self.selection;
        let preset = preset.as_deref().or(filter.is_empty().then_some("auto"));
        let path = |path: &PathBuf| shell::path(path);
        let name = |value: &dyn Fn() -> Option<PossibleValue>| value().map_or_else(String::new, |value| value.get_name().to_string());
        let mut options: Vec<(&str, String)> = preset.iter().map(|preset| ("preset", (*preset).to_string())).collect();
        options.extend(filter.iter().map(|file| ("filter", path(file))));
        options.extend(filter_format.iter().map(|format| ("filter-format", name(&|| format.to_possible_value()))));
        options.extend(budget.iter().map(|budget| ("budget", format!("{}%", 100.0 * budget.fraction()))));
        options.extend(from_run.iter().map(|run| ("from-run", path(run))));
        if !levels.is_empty() {
            let levels: Vec<String> = levels.iter().map(|level| name(&|| level.to_possible_value())).collect();
            options.push(("levels", levels.join(",")));
        }
        options.extend(self.library.iter().map(|pattern| ("library", shell::word(pattern).into_owned())));
        let options: Vec<String> = options.into_iter().map(|(option, value)| format!("--{option} {value}")).collect();
        let trial = self.trial.is_some().then(|| "--trial".to_string());
        options.into_iter().chain(trial).collect::<Vec<_>>().join(" ")
    }
}

/// The programs of the job, instrumented, and how they are to be measured.
pub(crate) fn prepare(job: &Job) -> Result<(Prepared, Setting), Failure> {
    let setting = Setting::of(&job.measuring)?;
    let choice = Choice::of(&job.selection, setting.keeper())?;
    let setting = setting.within_that_of(&job.selection, &choice);
    let choice = match job.trial {
        Some(length) => trial::sharpened(choice, length, &job.command, &job.library, setting)?,
        None => choice,
    };
    let programs = launch::programs(&job.command).map_err(|error| launch::failure(&error))?;
    let prepared = instrumenting::prepare(programs, &choice, &job.library)?;
    other_tools::tell_of_preloaded(&job.command);
    Ok((prepared, setting))
}
