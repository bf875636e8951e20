//! What is to be measured: the preset, then the filter files in the order given, then the budget.

use std::path::Path;

use tare_rewrite::Levels;
use tare_select::budget::{Budget, Keeper};
use tare_select::lists::ListFormat;
use tare_select::{Filter, Preset, Snippets, UnknownPreset};

use crate::args::{FilterFormat, Level, Selection};
use crate::budget::Limiting;
use crate::failure::{Code, Failure};
use crate::rundir::RunDirectory;

/// What is to be measured.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    filters: Vec<Filter>,
    /// Where the filters of files begin, behind the preset's.
    files_begin: usize,
    limiting: Option<Limiting>,
    levels: Option<Levels>,
    key: String,
}

impl Choice {
    /// The choice that options stand for. What keeps probes within the budget of preset `auto` is `keeper`.
    pub(crate) fn of(selection: &Selection, keeper: Keeper) -> Result<Self, Failure> {
        let levels = levels(&selection.levels);
        let mut choice = Self { filters: Vec::new(), files_begin: 0, limiting: None, levels, key: format!("{levels:?}\n") };
        let default = selection.filter.is_empty().then_some("auto");
        let preset = selection.preset.as_deref().or(default).map(preset).transpose()?;
        if let Some(preset) = preset {
            choice.add(filter_of(preset)?, preset.text());
        }
        choice.files_begin = choice.filters.len();
        for path in &selection.filter {
            let text = read(path)?;
            let format = selection.filter_format.map_or_else(|| ListFormat::recognised(&text), known_format);
            let filter = format.read(&text, &stem(path)).map_err(|error| {
                let remedy = "tare select --print-preset cc3 prints a filter to begin with; --filter-format names another format";
                Failure::new(Code::BadInput, format!("{}: {error}", path.display())).remedy(remedy)
            })?;
            choice.warn_of_restart(&filter);
            choice.add(filter, &text);
        }
        let named = choice.filters.iter().rev().find_map(|filter| filter.budget);
        choice.limiting = Limiting::of(selection, named, keeper)?;
        Ok(choice)
    }

    /// A filter that says with which set it begins makes what stands before it useless.
    fn warn_of_restart(&self, filter: &Filter) {
        if let (Some(before), Some(start)) = (self.filters.last(), filter.start) {
            eprintln!("tare: filter {} begins anew ({start}): what {} chose is not used", filter.name, before.name);
        }
    }

    fn add(&mut self, filter: Filter, text: &str) {
        self.filters.push(filter);
        self.key.push_str(&format!("{}\n{text}\n", text.len()));
    }

    /// The filters, in the order in which they are evaluated.
    pub(crate) fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// Those of them that files hold.
    pub(crate) fn filters_of_files(&self) -> &[Filter] {
        &self.filters[self.files_begin..]
    }

    /// What is measured of a function that has these snippets: what was asked for, or what they say.
    pub(crate) fn levels(&self, snippets: &Snippets) -> Levels {
        self.levels.unwrap_or_else(|| Levels {
            function: snippets.functions.is_some(),
            loops: snippets.loops.is_some(),
            iterations: false,
            call_sites: snippets.callsites.is_some(),
        })
    }

    /// What was asked for, whatever filters say.
    pub(crate) const fn levels_asked(&self) -> Option<Levels> {
        self.levels
    }

    /// Whether they ask for lines or files.
    pub(crate) fn needs_source(&self) -> bool {
        self.filters.iter().any(|filter| filter.needs().source)
    }

    /// Whether it rests on paths of sure calls: those to MPI and OpenMP are kept within a budget.
    pub(crate) fn follows_sure_edges(&self) -> bool {
        self.limiting.is_some() || self.filters.iter().any(|filter| filter.needs().sure_edges)
    }

    /// What limits what they let in.
    pub(crate) fn limiting(&self) -> Option<&Limiting> {
        self.limiting.as_ref()
    }

    /// The choice of a trial run, which is all that filters let in, and what its probes may cost while it runs.
    pub(crate) fn for_trial(&self) -> Result<(Self, Budget), Failure> {
        let Some(limiting) = &self.limiting else {
            return Err(Failure::new(Code::Usage, "--trial sharpens the estimates of preset `auto`, and another preset has none")
                .remedy("use --preset auto: filters that follow it go on from there"));
        };
        // What the filters lack is told for the run itself.
        Ok((Self { limiting: None, files_begin: self.filters.len(), ..self.clone() }, limiting.budget()))
    }

    /// This choice with what a run showed, if it showed anything.
    pub(crate) fn after(self, run: &RunDirectory) -> Result<Option<Self>, Failure> {
        let Some(limiting) = self.limiting else { return Ok(Some(self)) };
        let limiting = limiting.after(run)?;
        Ok(limiting.map(|limiting| Self { limiting: Some(limiting), ..self }))
    }

    /// Tells this choice from others: the texts of its filters, and its limit.
    pub(crate) fn key(&self) -> String {
        format!("{}{}", self.key, self.limiting.as_ref().map(Limiting::key).unwrap_or_default())
    }
}

fn levels(asked: &[Level]) -> Option<Levels> {
    let has = |level| asked.contains(&level);
    (!asked.is_empty()).then(|| Levels {
        function: has(Level::Functions),
        loops: has(Level::Loops),
        iterations: has(Level::Iterations),
        call_sites: has(Level::Callsites),
    })
}

/// The preset of a name.
pub(crate) fn preset(name: &str) -> Result<Preset, Failure> {
    let unknown = |error: UnknownPreset| {
        Failure::new(Code::Usage, error.to_string()).remedy("tare select IMAGE --preset cc2 shows what a preset would measure")
    };
    name.parse().map_err(unknown)
}

/// The filter of a preset.
pub(crate) fn filter_of(preset: Preset) -> Result<Filter, Failure> {
    preset.filter().map_err(|error| Failure::new(Code::Internal, format!("preset {preset} cannot be read: {error}")))
}

const fn known_format(format: FilterFormat) -> ListFormat {
    match format {
        FilterFormat::Xml => ListFormat::Xml,
        FilterFormat::Names => ListFormat::Names,
        FilterFormat::Scorep => ListFormat::ScoreP,
        FilterFormat::Tau => ListFormat::Tau,
        FilterFormat::Gcc => ListFormat::Gcc,
        FilterFormat::Xray => ListFormat::XRay,
    }
}

/// The name of a file without folder and ending.
fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "list".into(), |stem| stem.to_string_lossy().into_owned())
}

fn read(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::io(Code::NoInput, "read the filter", path, &error).remedy("tare select --print-preset cc3 prints a filter to begin with")
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let (valid, rest) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let before = String::from_utf8_lossy(valid);
        let line = before.rsplit('\n').next().unwrap_or_default();
        let (row, column) = (1 + before.matches('\n').count(), 1 + line.chars().count());
        let what = format!("line {row}, column {column}: the byte {:#04x} is no text; expected UTF-8", rest[0]);
        Failure::new(Code::BadInput, format!("{}: {what}", path.display())).remedy("name a filter file, or convert it to UTF-8")
    })
}
