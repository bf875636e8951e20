//! `tare validate -- CMD`: the check of the claim. Unmeasured and measured runs in turn, compared rank by rank.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use tare_compensate::Mode as Compensation;
use tare_compensate::compensate;
use tare_compensate::validation::{Measured, Pair, Unmeasured, Validation};
use tare_profile::Location;

use crate::args::{ComparisonFormat, ValidateArguments};
use crate::collect::collect;
use crate::failure::{Code, Failure};
use crate::job;
use crate::measured::{self, Mode, Setting, Target, fresh_id};
use crate::progress::Step;
use crate::results::{NewRun, Results};
use crate::rundir::{Exit, ImageRecord, Learnt, RunDirectory};
use crate::stdout;

/// Runs the pairs and prints the table to stdout; fails where a run fails.
pub(crate) fn validate(arguments: &ValidateArguments) -> Result<ExitCode, Failure> {
    let (prepared, setting) = job::prepare(&arguments.job)?;
    let line = &arguments.job.command;
    measured::check(&prepared.targets, setting)?;
    let run = RunDirectory::create(arguments.output.as_deref(), &prepared.targets[0].program.path)?;
    // The record makes the directory of all runs one of ours, to be replaced the next time.
    let programs = measured::positions(&prepared.targets);
    NewRun { id: fresh_id(), line, setting, images: prepared.images.clone(), programs, selection: Some(arguments.job.chosen()) }.begin(&run)?;
    let originals: Vec<Target> =
        prepared.targets.iter().map(|target| Target { executable: target.program.path.clone(), libraries: Vec::new(), ..target.clone() }).collect();
    let plain = Side { run: &run, line, targets: &originals, setting: Setting { mode: Mode::Clock, ..setting }, images: &[], learnt: None };
    let measured = Side { targets: &prepared.targets, setting, images: &prepared.images, learnt: prepared.learnt.as_ref(), ..plain };
    let step = Step::begin(format!("{} pairs of runs", arguments.runs));
    let mut pairs = Vec::with_capacity(arguments.runs.into());
    for index in 0..arguments.runs {
        step.says(&format!("{index} done"));
        // Which of the two goes first alternates, so that neither profits from what the other warmed up.
        let (unmeasured, with) = if index % 2 == 0 {
            let unmeasured = plain.run_once(&format!("{index:03}-unmeasured"))?;
            (unmeasured, measured.run_once(&format!("{index:03}-measured"))?)
        } else {
            let with = measured.run_once(&format!("{index:03}-measured"))?;
            (plain.run_once(&format!("{index:03}-unmeasured"))?, with)
        };
        pairs.push(Pair { unmeasured: unmeasured_ranks(&unmeasured), measured: measured_ranks(&with) });
    }
    drop(step);
    let table = Validation::of(&whole_pairs(pairs)).ok_or_else(|| {
        Failure::new(Code::BadInput, "there is nothing to compare: no rank was seen in both kinds of runs")
            .remedy(format!("see the output of the runs in {}", run.path.display()))
    })?;
    match arguments.format {
        ComparisonFormat::Text => stdout::write(tare_report::validate::text(&table, &crate::results::page(None)))?,
        ComparisonFormat::Svg => stdout::write(tare_report::picture::validation(&table))?,
        ComparisonFormat::Json => stdout::write_line(tare_report::validate::json(&table))?,
    }
    eprintln!("tare: runs and their output are in {}", run.path.display());
    Ok(ExitCode::SUCCESS)
}

/// One of the two kinds of runs.
#[derive(Clone, Copy)]
struct Side<'a> {
    run: &'a RunDirectory,
    line: &'a [std::ffi::OsString],
    targets: &'a [Target],
    setting: Setting,
    images: &'a [ImageRecord],
    learnt: Option<&'a Learnt>,
}

impl Side<'_> {
    /// Runs the command once, its output in a file, in a run directory of its own within that of all.
    fn run_once(&self, name: &str) -> Result<Results, Failure> {
        let inner = RunDirectory::create(Some(&self.run.path.join(name)), Path::new(name))?;
        let new = NewRun {
            id: fresh_id(),
            line: self.line,
            setting: self.setting,
            images: self.images.to_vec(),
            programs: measured::positions(self.targets),
            selection: None,
        };
        new.begin(&inner)?;
        self.learnt.map_or(Ok(()), |learnt| inner.write_learnt(learnt))?;
        let output = inner.path.join("output");
        let (exit, wall) = measured::launch(&inner, &new.id, self.line, self.targets, self.setting, &output)?;
        new.end(&inner, exit, wall, Vec::new())?;
        if exit != Exit::Status(0) {
            collect(&inner, &new.id)?;
            let how = match exit {
                Exit::Status(status) => format!("ended with status {status}"),
                Exit::Signal(signal) => format!("was ended by signal {signal}"),
            };
            return Err(
                Failure::new(Code::BadInput, format!("the command {how} in run {name}")).remedy(format!("see its output in {}", output.display()))
            );
        }
        Results::read(&inner)
    }
}

/// The process of each rank; without MPI the one that began first. Children of the program are not compared.
fn ranks(results: &Results) -> BTreeMap<u32, usize> {
    let processes = || results.profile.processes.iter().enumerate().filter(|(_, process)| process.span.is_some());
    let ranked: BTreeMap<u32, usize> = processes().filter_map(|(index, process)| Some((process.rank?, index))).collect();
    if !ranked.is_empty() {
        return ranked;
    }
    processes().min_by_key(|(_, process)| process.start_ns).map(|(index, _)| (0, index)).into_iter().collect()
}

/// What each rank of an unmeasured run took.
fn unmeasured_ranks(results: &Results) -> Vec<Unmeasured> {
    let of = |process: usize| {
        let process = &results.profile.processes[process];
        let ticks = process.span.map_or(0, |span| span.ticks()) as f64;
        let ticks_per_cycle = process.clock.ticks_per_cycle.unwrap_or(1.0);
        Unmeasured { cycles: ticks / ticks_per_cycle, seconds_per_cycle: ticks_per_cycle * process.clock.seconds_per_tick }
    };
    ranks(results).into_values().map(of).collect()
}

/// What each rank of a measured run took under each compensation, in cycles.
fn measured_ranks(results: &Results) -> Vec<Measured> {
    let [local, parallel] = [Compensation::Local, Compensation::Parallel].map(|mode| compensate(&results.profile, mode));
    let of = |process: usize| {
        let is_main = |location: &Location| location.process.0 == process && location.thread == 0;
        let index = results.profile.locations.iter().position(is_main)?;
        let clock = results.profile.processes[process].clock;
        let seconds_per_cycle = clock.seconds_per_tick * clock.ticks_per_cycle.unwrap_or(1.0);
        let cycles = |seconds: f64| seconds / seconds_per_cycle;
        Some(Measured {
            uncompensated: cycles(local.locations[index].measured_s),
            local: cycles(local.locations[index].total.value),
            parallel: cycles(parallel.locations[index].total.value),
            seconds_per_cycle,
        })
    };
    ranks(results).into_values().filter_map(of).collect()
}

/// Leaves out the pairs in which a rank is missing, and says so.
fn whole_pairs(mut pairs: Vec<Pair>) -> Vec<Pair> {
    let ranks = pairs.iter().map(|pair| pair.unmeasured.len().max(pair.measured.len())).max().unwrap_or(0);
    let all = pairs.len();
    pairs.retain(|pair| pair.unmeasured.len() == ranks && pair.measured.len() == ranks);
    if pairs.len() < all {
        eprintln!("tare: {} of {all} pairs left out: a rank left no data in one of their runs", all - pairs.len());
    }
    pairs
}
