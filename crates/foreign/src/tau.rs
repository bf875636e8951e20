//! TAU's profiles: a file for each thread, `profile.N.C.T` of node N, context C and thread T.
//!
//! ```text
//! 23 templated_functions_MULTI_TIME
//! # Name Calls Subrs Excl Incl ProfileCalls # <metadata>…</metadata>
//! "main [{pi.c} {80,1}-{99,1}]" 1 7 449 51781 0 GROUP="TAU_USER"
//! "main [{pi.c} {80,1}-{99,1}] => MPI_Init()  " 1 0 17983 17983 0 GROUP="TAU_CALLPATH|MPI"
//! 0 aggregates
//! ```
//!
//! Times are microseconds. Beside flat entries there may be entries of call paths, whose exclusive times are parts of the flat
//! ones. Where paths begin at roots they make the tree. Where TAU has cut them at a depth (`TAU_CALLPATH_DEPTH`) they begin in the
//! middle, and where they come from is lost: then the flat entries are taken, below the root. Samples (`[SAMPLE]`, `[CONTEXT]`) say
//! in another way what the entries above them say: they are left out.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tare_profile::{Node, Process, RegionKind};

use crate::error::ForeignError;
use crate::model::{COMPENSATION, Foreign, Known, Regions, compensated, finish, location, node, process};

/// What separates the steps of a call path.
const STEP: &str = " => ";
/// Behind the name of a function that TAU has stopped to count.
const THROTTLED: &str = " [THROTTLED]";
/// The name of a root that stands for the program.
const PROGRAM: &str = ".TAU application";

/// The node, context and thread of a file's name; `None` for other files.
#[must_use]
pub fn place(file_name: &str) -> Option<[u32; 3]> {
    let mut numbers = file_name.strip_prefix("profile.")?.split('.').map(|part| part.parse::<u32>().ok());
    let place = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(place)
}

/// Reads the files of a profile: names, as they stand in their directory, and bytes.
///
/// # Errors
/// Where there is no file of that kind, one that counts something else than time, or one that makes no sense.
pub fn read(files: &[(&str, &[u8])]) -> Result<Foreign, ForeignError> {
    let mut sorted: Vec<([u32; 3], &str, &[u8])> = files.iter().filter_map(|&(name, bytes)| Some((place(name)?, name, bytes))).collect();
    sorted.sort_by_key(|&(place, ..)| place);
    let mut reading = Reading::default();
    for (place, name, bytes) in &sorted {
        reading.add(*place, &File::parse(name, &String::from_utf8_lossy(bytes))?);
    }
    if reading.locations.is_empty() {
        return Err(ForeignError::Nothing);
    }
    Ok(reading.finish())
}

/// A file, line by line.
struct File {
    entries: Vec<Entry>,
    about: HashMap<String, String>,
    name: String,
}

/// A line of a file.
struct Entry {
    /// Its steps, one for a flat entry.
    steps: Vec<String>,
    calls: u64,
    exclusive_us: f64,
    is_mpi: bool,
    is_throttled: bool,
}

impl File {
    fn parse(name: &str, text: &str) -> Result<Self, ForeignError> {
        let wrong = |line: usize, what| ForeignError::Line { file: name.to_string(), line: line + 1, what };
        let mut lines = text.lines().enumerate();
        let (_, head) = lines.next().ok_or_else(|| wrong(0, "the file is empty"))?;
        let (count, kind) = head.split_once(' ').ok_or_else(|| wrong(0, "a number of functions is expected"))?;
        let count: usize = count.parse().map_err(|_| wrong(0, "a number of functions is expected"))?;
        let metric = kind.strip_prefix("templated_functions").ok_or_else(|| wrong(0, "`templated_functions` is expected"))?;
        let metric = metric.strip_prefix("_MULTI_").unwrap_or("TIME");
        if !is_time(metric) {
            return Err(ForeignError::NoTime { file: name.to_string(), metric: metric.to_string() });
        }
        let (_, columns) = lines.next().ok_or_else(|| wrong(1, "the names of the columns are missing"))?;
        let mut entries = Vec::new();
        for (number, line) in lines.by_ref().take(count) {
            entries.extend(Entry::parse(line).map_err(|what| wrong(number, what))?);
        }
        match lines.next() {
            Some((_, line)) if line.ends_with("aggregates") => Ok(Self { entries, about: about(columns), name: name.to_string() }),
            Some((number, _)) => Err(wrong(number, "`aggregates` is expected: there are more functions than the file says")),
            None => Err(wrong(text.lines().count(), "the file ends early")),
        }
    }
}

/// Metrics that are times, in microseconds.
fn is_time(metric: &str) -> bool {
    let name = metric.to_uppercase();
    ["TIME", "CLOCK", "TIMERS"].iter().any(|part| name.contains(part)) && !name.starts_with("PAPI_")
}

impl Entry {
    /// `None` for what says again what others say.
    fn parse(line: &str) -> Result<Option<Self>, &'static str> {
        let (front, group) = line.rsplit_once(" GROUP=\"").ok_or("a function with its GROUP is expected")?;
        let mut words = front.trim_end().rsplitn(6, ' ');
        let mut number = || words.next().and_then(|word| word.parse::<f64>().ok()).filter(|value| value.is_finite());
        let (_profiled, _inclusive) = (number().ok_or("five numbers are expected")?, number().ok_or("five numbers are expected")?);
        let (exclusive_us, _below) = (number().ok_or("five numbers are expected")?, number().ok_or("five numbers are expected")?);
        let calls = number().ok_or("five numbers are expected")?;
        let name = words.next().and_then(|name| name.trim().strip_prefix('"')?.strip_suffix('"')).ok_or("a name in quotes is expected")?;
        let (name, is_throttled) = name.trim_end().strip_suffix(THROTTLED).map_or((name, false), |name| (name, true));
        let groups: Vec<&str> = group.trim_end().trim_end_matches('"').split('|').map(str::trim).collect();
        if groups.iter().any(|group| group.starts_with("TAU_SAMPLE") || *group == "TAU_UNWIND") {
            return Ok(None);
        }
        let steps: Vec<String> = name.split(STEP).map(|step| step.trim().to_string()).collect();
        Ok(Some(Self { is_mpi: groups.contains(&"MPI"), steps, calls: calls as u64, exclusive_us, is_throttled }))
    }
}

/// Names and values of the metadata in the line of the columns; empty where they are damaged.
fn about(columns: &str) -> HashMap<String, String> {
    let Some(begin) = columns.find("<metadata>") else { return HashMap::new() };
    let Ok(document) = roxmltree::Document::parse(&columns[begin..]) else { return HashMap::new() };
    let attributes = document.root_element().children().filter(|child| child.has_tag_name("attribute"));
    let text = |node: &roxmltree::Node<'_, '_>, name: &str| {
        node.children().find(|child| child.has_tag_name(name)).and_then(|child| child.text()).map(|text| text.trim().to_string())
    };
    attributes.filter_map(|attribute| Some((text(&attribute, "name")?, text(&attribute, "value")?))).collect()
}

/// What has been read so far.
#[derive(Default)]
struct Reading {
    regions: Regions,
    processes: Vec<Process>,
    nodes_of: Vec<[u32; 2]>,
    locations: Vec<tare_profile::Location>,
    program: String,
    tool: Option<String>,
    compensated: Option<&'static str>,
    started_ns: u64,
    /// Threads whose call paths were cut, and those that have none.
    cut: usize,
    flat: usize,
    throttled: BTreeSet<String>,
}

impl Reading {
    fn add(&mut self, [rank, context, thread]: [u32; 3], file: &File) {
        let of = |name: &str| file.about.get(name).cloned().unwrap_or_default();
        if self.nodes_of.last() != Some(&[rank, context]) {
            let host = ["Hostname", "Node Name"].iter().map(|name| of(name)).find(|host| !host.is_empty()).unwrap_or_default();
            let pid = of("pid").parse().unwrap_or(rank);
            let start_ns = of("Starting Timestamp").parse::<u64>().unwrap_or(0).saturating_mul(1000);
            self.processes.push(Process { start_ns, ..process(file.name.clone(), host, pid, of("Executable")) });
            self.nodes_of.push([rank, context]);
            if self.program.is_empty() {
                self.program = ["Command Line", "Executable"].iter().map(|name| of(name)).find(|line| !line.is_empty()).unwrap_or_default();
            }
            if self.started_ns == 0 {
                self.started_ns = start_ns;
            }
            self.tool =
                self.tool.take().or_else(|| Some(of("TAU Version")).filter(|version| !version.is_empty()).map(|version| format!("TAU {version}")));
            let compensation = of(COMPENSATION);
            if !compensation.is_empty() {
                self.tool = Some("Tareweight".to_string());
                self.compensated = compensated(&compensation);
            }
        }
        let nodes = self.tree(&file.entries);
        self.locations.push(location(self.processes.len() - 1, thread, nodes));
    }

    /// The call paths of a thread.
    fn tree(&mut self, entries: &[Entry]) -> Vec<Node> {
        let throttled = entries.iter().filter(|entry| entry.is_throttled).filter_map(|entry| entry.steps.last());
        self.throttled.extend(throttled.map(|step| region(step, false).name));
        let paths: Vec<&Entry> = entries.iter().filter(|entry| entry.steps.len() > 1).collect();
        // A function that something calls is no root, unless it calls itself alone.
        let called: HashSet<&str> =
            paths.iter().flat_map(|path| path.steps[1..].iter().map(String::as_str).filter(move |step| *step != path.steps[0])).collect();
        let is_cut = paths.iter().any(|path| called.contains(path.steps[0].as_str()));
        let mut tree = Tree { nodes: vec![node(self.regions.program(), None, 0, 0)], known: BTreeMap::new() };
        self.flat += usize::from(paths.is_empty());
        if is_cut {
            self.cut += 1;
            for entry in entries.iter().filter(|entry| entry.steps.len() == 1) {
                tree.add(&mut self.regions, &entry.steps, entry);
            }
            return tree.nodes;
        }
        for path in entries.iter().filter(|entry| entry.steps.len() > 1 || !called.contains(entry.steps[0].as_str())) {
            tree.add(&mut self.regions, &path.steps, path);
        }
        tree.nodes
    }

    fn finish(self) -> Foreign {
        // Several contexts of a node are several ranks, as none of them is one alone.
        let has_contexts = self.nodes_of.windows(2).any(|two| two[0][0] == two[1][0]);
        let rank = |(index, place): (usize, &[u32; 2])| if has_contexts { u32::try_from(index).unwrap_or(u32::MAX) } else { place[0] };
        let ranks: Vec<u32> = self.nodes_of.iter().enumerate().map(rank).collect();
        let threads = |count: usize| if count == 1 { "one thread".to_string() } else { format!("{count} threads") };
        let mut notes = Vec::new();
        if self.cut > 0 {
            let what = threads(self.cut);
            notes.push(format!("call paths of {what} were cut at TAU_CALLPATH_DEPTH: functions stand below the program, without their callers"));
        }
        if self.flat > 0 {
            notes.push(format!(
                "TAU kept no call paths of {} (TAU_CALLPATH=1 keeps them): functions stand below the program, and what they call is not in their inclusive times",
                threads(self.flat)
            ));
        }
        if !self.throttled.is_empty() {
            let names = self.throttled.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            notes.push(format!(
                "TAU stopped to count {names}: calls and times are too small there, and those of their callers hold the rest (TAU_THROTTLE=0)"
            ));
        }
        let tool = self.tool.unwrap_or_else(|| "TAU".to_string());
        Foreign {
            profile: finish(self.processes, &ranks, self.locations, self.regions),
            tool,
            compensated: self.compensated,
            program: self.program,
            started_ns: self.started_ns,
            notes,
        }
    }
}

/// Call paths by their parent and name.
struct Tree {
    nodes: Vec<Node>,
    known: BTreeMap<(usize, String), usize>,
}

impl Tree {
    fn add(&mut self, regions: &mut Regions, steps: &[String], entry: &Entry) {
        let mut at = 0;
        for (index, step) in steps.iter().enumerate() {
            if index == 0 && step == PROGRAM {
                continue;
            }
            let is_mpi = entry.is_mpi && index + 1 == steps.len();
            at = match self.known.get(&(at, step.clone())) {
                Some(&known) => known,
                None => {
                    let new = self.nodes.len();
                    self.nodes.push(node(regions.intern(region(step, is_mpi)), Some(at), 0, 0));
                    self.known.insert((at, step.clone()), new);
                    new
                }
            };
        }
        let node = &mut self.nodes[at];
        node.on_calls = node.on_calls.saturating_add(entry.calls);
        node.exclusive = node.exclusive.saturating_add((entry.exclusive_us * 1e3).round() as i64);
    }
}

/// `int main(int, char **) C [{pi.c} {80,1}-{99,1}]` with its place in the source.
fn region(step: &str, is_mpi: bool) -> Known {
    let (name, place) = match step.rfind(" [{") {
        Some(at) if step.ends_with(']') => (&step[..at], &step[at + 3..]),
        _ => (step, ""),
    };
    let (file, rest) = place.split_once('}').unwrap_or_default();
    let line = rest.trim_start().strip_prefix('{').and_then(|numbers| numbers.split([',', '}']).next()?.parse().ok()).unwrap_or(0);
    let name = name.trim();
    let name = name.strip_suffix(" C").filter(|front| front.ends_with(')')).unwrap_or(name).trim();
    let is_mpi = is_mpi || (name.starts_with("MPI_") && !name.contains(' '));
    let (kind, name) = match name {
        name if is_mpi => (RegionKind::Mpi, name.trim_end_matches("()")),
        name if name.starts_with("Loop: ") => (RegionKind::Loop, name),
        name => (RegionKind::Function, name),
    };
    Known { kind, name: name.to_string(), raw_name: step.to_string(), file: file.to_string(), line }
}
