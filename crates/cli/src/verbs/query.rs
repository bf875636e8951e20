//! `tare query DIR QUESTION`: an answer about a run, finished or going on. The run is read where it lies.

use std::process::ExitCode;

use tare_compensate::compensate_wanted;
use tare_profile::Profile;
use tare_query::{Jump, Measure, Nothing, Puzzle, Question, Sums, answer, places};
use tare_report::answer as shown;

use crate::args::{Compensate, Format, QueryArguments};
use crate::failure::{Code, Failure};
use crate::memory;
use crate::progress::during;
use crate::results::{Results, answer_page};
use crate::stdout;

/// Answers the question.
pub(crate) fn query(arguments: &QueryArguments) -> Result<ExitCode, Failure> {
    memory::answer_soon();
    let words = arguments.question.join(" ");
    let question = Question::parse(&words).map_err(|puzzle| failure(&puzzle))?;
    let read = |extent| during(format!("reading {}", arguments.run.display()), || Results::at(&arguments.run, extent));
    let answer = |results: &Results| during("answering", || answered(results, &words, &question, arguments.compensate, arguments.format));
    let (extent, of_reasons) = (question.extent(), question.extent_of_reasons());
    let results = read(extent)?;
    if let Some(files) = results.missing() {
        eprintln!("tare: {files}; the answer is that of the rest");
    }
    match answer(&results) {
        Err(_) if of_reasons != extent => stdout::write(answer(&read(of_reasons)?)?)?,
        text => stdout::write(text?)?,
    }
    // The process ends: to give memory back page by page would only take time from the program that is asked about.
    std::mem::forget(results);
    Ok(ExitCode::SUCCESS)
}

/// The answer to a question in words, as JSON.
pub(crate) fn document(results: &Results, words: &str, compensate: Compensate) -> Result<String, Failure> {
    let question = Question::parse(words).map_err(|puzzle| failure(&puzzle))?;
    answered(results, words, &question, compensate, Format::Json)
}

/// The answer to a question, ending with a newline.
fn answered(results: &Results, words: &str, question: &Question, compensate: Compensate, format: Format) -> Result<String, Failure> {
    let profile = &results.profile;
    if let Some(rank) = question.missing_rank(profile) {
        return Err(failure(&Puzzle::Rank(rank)));
    }
    let text = match question {
        Question::Where(ranks) => {
            let places = places(profile, ranks.as_deref());
            match format {
                Format::Text => shown::places_text(profile, &places, &answer_page()),
                Format::Json => shown::places_json(profile, words, &places) + "\n",
            }
        }
        Question::Sums(question) => {
            if results.is_foreign() {
                known_of_others(question, profile)?;
            }
            // What another tool measured has nothing taken off.
            let mode = results.mode(compensate);
            let compensated = compensate_wanted(profile, mode, question.wanted());
            let answer = answer(profile, &compensated, question).map_err(|puzzle| failure(&puzzle))?;
            match format {
                Format::Text => shown::text(&results.about(), profile, mode, &answer, &answer_page()),
                Format::Json => shown::json(&results.about(), profile, mode, words, &answer) + "\n",
            }
        }
    };
    Ok(text)
}

/// Files of other tools hold times and calls: what else is asked for nobody has counted.
fn known_of_others(question: &Sums, profile: &Profile) -> Result<(), Failure> {
    // Exports of ours have who waited, where the format has a place for it.
    let has_waits = || profile.locations.iter().flat_map(|location| &location.nodes).any(|node| node.exchanged().wait_ticks > 0);
    let is_known = |measure: &&Measure| match measure {
        Measure::Time | Measure::Own | Measure::Count | Measure::Measured => true,
        Measure::Waiting => has_waits(),
        _ => false,
    };
    match question.measures.iter().find(|measure| !is_known(measure)) {
        None => Ok(()),
        Some(measure) => Err(Failure::new(Code::NoInput, format!("files of other tools do not say the {}", measure.name()))
            .remedy("time, self or count; of a run that tare measured everything is known")),
    }
}

/// What is wrong with a question, and what to ask instead.
fn failure(puzzle: &Puzzle) -> Failure {
    match puzzle {
        Puzzle::Unknown { near, .. } if !near.is_empty() => {
            let near: Vec<String> = near.iter().map(|name| if name.contains(' ') { format!("'{name}'") } else { name.clone() }).collect();
            Failure::new(Code::NoInput, puzzle.to_string()).remedy(format!("one of {}", near.join(", ")))
        }
        Puzzle::Unknown { .. } => Failure::new(Code::NoInput, puzzle.to_string())
            .remedy("`self by region` lists what was measured; an inlined function is part of its caller; statements and loops are regions with --levels functions,loops,callsites"),
        Puzzle::Nothing(nothing) => {
            let failure = Failure::new(Code::NoInput, puzzle.to_string());
            match nothing {
                Nothing::Jump(Jump { place: Some(place), .. }) => failure.remedy(format!("`call at {place}` has its time")),
                Nothing::Jump(Jump { statement, .. }) => failure.remedy(format!("`time of '{statement}'`")),
                Nothing::NoPartner { .. } => failure.remedy("the question without `by peer`"),
                Nothing::OfThreads => failure.remedy("`waiting of program by thread`"),
                Nothing::Communication { place } => failure.remedy(format!("`communication at {place}`")),
                _ => failure.remedy("`self by region` lists what was measured"),
            }
        }
        Puzzle::Rank(_) => Failure::new(Code::BadInput, puzzle.to_string()).remedy("`time by rank` lists the ranks"),
        Puzzle::NotAlong { .. } => Failure::new(Code::Usage, puzzle.to_string()).remedy("waiting, transmission, messages or bytes"),
        _ => Failure::new(Code::Usage, puzzle.to_string()).remedy("tare query --help"),
    }
}
