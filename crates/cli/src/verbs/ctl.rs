//! `tare ctl DIR --off PATTERN --on PATTERN`: switches regions of a run that goes on.
//!
//! Names become region ids here, by the images that each process has recorded and the regions that it names itself. Operations of MPI are
//! never switched: messages carry delays. The request goes into a file beside the
//! process's graph, its number into the header, and the process follows at its next look (`tare_format::graph`).

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memmap2::MmapMut;
use serde::Serialize;
use tare_format::description::{Description, RegionKind};
use tare_format::graph::{ARENA, HEADER_AREA, Header, IMAGE_TABLE, IMAGES, ImageRecord, LocationRecord, MAX_NODES, NODES, Node, ProcessState};
use tare_profile::Region;
use tare_report::json::SCHEMA;

use crate::args::{CtlArguments, Format};
use crate::collect::{is_alive, request_of};
use crate::failure::{Code, Failure};
use crate::naming::name_functions;
use crate::pattern::Pattern;
use crate::rundir::{RunDirectory, node_local};
use crate::stdout;

/// What is asked for a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Want {
    On = 0,
    Off = 1,
}

/// Asks all processes of the run on this node, and says who followed.
pub(crate) fn ctl(arguments: &CtlArguments) -> Result<ExitCode, Failure> {
    let run = RunDirectory::open(&arguments.run)?;
    let record = run.read_record()?;
    let mut wishes = Wishes::parse(&arguments.off, &arguments.on)?;
    let descriptions = descriptions(&run)?;
    let graphs = running(&run, &record.id);
    if graphs.is_empty() {
        return Err(Failure::new(Code::NoInput, format!("no process of {} runs on this node", run.path.display()))
            .remedy("regions are switched while their program runs; before it, choose them with --preset or --filter"));
    }
    let mut asked = Vec::new();
    for path in graphs {
        let Some(mut graph) = Graph::open(&path)? else { continue };
        let switches = wishes.of(&graph, &descriptions);
        if !switches.is_empty() {
            graph.ask(&switches)?;
            asked.push((graph, switches));
        }
    }
    if let Some(vain) = wishes.vain() {
        if asked.is_empty() {
            return Err(vain);
        }
        eprintln!("tare: {vain}");
    }
    let until = Instant::now() + Duration::from_secs_f64(arguments.wait.clamp(0.0, 3600.0));
    while asked.iter().any(|(graph, _)| graph.is_awaited()) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
        asked.iter_mut().filter(|(graph, _)| graph.is_awaited()).for_each(|(graph, _)| graph.poke());
    }
    asked.iter().for_each(|(graph, _)| graph.withdraw_from_ended());
    let answers: Vec<Answer> = asked.iter().map(|(graph, switches)| Answer::of(graph, switches)).collect();
    match arguments.format {
        Format::Text => stdout::write(answers.iter().map(Answer::line).collect::<String>())?,
        Format::Json => stdout::write_line(serde_json::json!({ "schema": SCHEMA, "processes": answers }).to_string())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What a process was asked for.
#[derive(Serialize)]
struct Answer {
    process: u32,
    off: usize,
    on: usize,
    followed: bool,
}

impl Answer {
    fn of(graph: &Graph, switches: &[(u32, Want)]) -> Self {
        let count = |want: Want| switches.iter().filter(|(_, wanted)| *wanted == want).count();
        Self { process: graph.pid(), off: count(Want::Off), on: count(Want::On), followed: graph.has_followed() }
    }

    fn line(&self) -> String {
        let state = if self.followed { "" } else { " (asked; it follows when it next enters a measured region)" };
        let regions = if self.off == 1 { "region" } else { "regions" };
        format!("process {}: {} {regions} off, {} on{state}\n", self.process, self.off, self.on)
    }
}

/// A pattern, and what has it.
struct Wish {
    pattern: Pattern,
    /// A region that can be switched.
    is_known: bool,
    /// An operation of MPI or of threads, which stays on.
    is_wrapped: bool,
}

impl Wish {
    /// An empty pattern, which every name has, is a slip: a variable of a script that is not set.
    fn parse(text: &str) -> Result<Self, Failure> {
        if text.is_empty() {
            return Err(Failure::new(Code::Usage, "an empty pattern names no region").remedy("give a part of a name, or /./ for all regions"));
        }
        Ok(Self { pattern: Pattern::parse(text)?, is_known: false, is_wrapped: false })
    }
}

/// What names are to be off and on.
struct Wishes {
    off: Vec<Wish>,
    on: Vec<Wish>,
}

impl Wishes {
    fn parse(off: &[String], on: &[String]) -> Result<Self, Failure> {
        let wishes = |texts: &[String]| texts.iter().map(|text| Wish::parse(text)).collect::<Result<Vec<_>, Failure>>();
        Ok(Self { off: wishes(off)?, on: wishes(on)? })
    }

    /// What is asked of one process: region ids.
    fn of(&mut self, graph: &Graph, descriptions: &[Description]) -> Vec<(u32, Want)> {
        let mut switches = Vec::new();
        for image in graph.images() {
            let Some(description) = descriptions.iter().find(|description| description.identity == image.identity) else { continue };
            for (number, region) in (1..).zip(&description.regions) {
                let want = self.want(region.kind, &tare_image::demangle(&region.name), &region.name);
                switches.extend(want.map(|want| (image.id_base + number, want)));
            }
        }
        for (id, region) in graph.named() {
            let want = self.want(region.kind, &region.name.to_string(), &region.raw_name);
            switches.extend(want.map(|want| (id, want)));
        }
        switches
    }

    /// What is asked for a region.
    fn want(&mut self, kind: RegionKind, shown: &str, raw: &str) -> Option<Want> {
        if kind == RegionKind::Pause {
            return None;
        }
        let has = |wishes: &mut [Wish]| {
            let has = wishes.iter_mut().filter(|wish| wish.pattern.matches(shown) || wish.pattern.matches(raw));
            has.map(|wish| if kind.is_wrapped() { wish.is_wrapped = true } else { wish.is_known = true }).count() > 0
        };
        let (off, on) = (has(&mut self.off), has(&mut self.on));
        (!kind.is_wrapped() && (off || on)).then_some(if on { Want::On } else { Want::Off })
    }

    /// That no region that can be switched has some of the names.
    fn vain(&self) -> Option<Failure> {
        let named = |is_wrapped: bool| {
            let vain = self.off.iter().chain(&self.on).filter(|wish| !wish.is_known && wish.is_wrapped == is_wrapped);
            let vain: Vec<String> = vain.map(|wish| format!("`{}`", wish.pattern)).collect();
            (!vain.is_empty()).then(|| vain.join(" or "))
        };
        if let Some(names) = named(false) {
            let unknown = Failure::new(Code::NoInput, format!("no measured region has {names} in its name"));
            return Some(unknown.remedy("a part of a name, or /…/, a regular expression; `tare report RUN` lists the regions"));
        }
        let names = named(true)?;
        let stays = Failure::new(Code::NoInput, format!("only operations of MPI or threads have {names} in their names, and those stay on"));
        Some(stays.remedy("the function that calls them: messages carry delays, and so their operations are never off"))
    }
}

fn descriptions(run: &RunDirectory) -> Result<Vec<Description>, Failure> {
    let read = |path: PathBuf| fs::read(&path).map_err(|error| Failure::io(Code::NoInput, "read", &path, &error));
    let bytes = run.files("regions")?.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(bytes.iter().filter_map(|bytes| Description::from_bytes(bytes).ok()).collect())
}

/// Graph files of processes of the run that run on this node.
fn running(run: &RunDirectory, id: &str) -> Vec<PathBuf> {
    let entries = [node_local(id), run.path.clone()].into_iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten();
    let graphs = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|ending| ending == "graph"));
    graphs.filter(|path| is_alive(path)).collect()
}

/// The graph file of a running process, mapped for writing.
struct Graph {
    path: PathBuf,
    bytes: MmapMut,
    number: u64,
}

impl Graph {
    /// `None` where its process has ended meanwhile.
    fn open(path: &Path) -> Result<Option<Self>, Failure> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| Failure::io(Code::NoInput, "open", path, &error))?,
        };
        // SAFETY: the process writes there as well; all that is read or written here are single words, as atomics.
        let bytes = unsafe { MmapMut::map_mut(&file) }.map_err(|error| Failure::io(Code::NoInput, "map", path, &error))?;
        Ok((bytes.len() >= Header::SIZE).then_some(Self { path: path.to_path_buf(), bytes, number: 0 }))
    }

    fn header(&self) -> Option<Header> {
        Header::from_bytes(&self.bytes)
    }

    fn pid(&self) -> u32 {
        self.header().map_or(0, |header| header.pid)
    }

    fn images(&self) -> Vec<ImageRecord> {
        let count = self.header().map_or(0, |header| (header.images as usize).min(IMAGES));
        let at = |index: usize| IMAGE_TABLE as usize + index * ImageRecord::SIZE;
        (0..count).filter_map(|index| ImageRecord::from_bytes(self.bytes.get(at(index)..)?)).collect()
    }

    /// The regions that the process has named itself.
    fn named(&self) -> Vec<(u32, Region)> {
        let mut regions = tare_profile::named(&self.bytes);
        name_functions(regions.iter_mut().map(|(_, region)| region));
        regions
    }

    /// Writes the request, its number, and lets the process look.
    fn ask(&mut self, switches: &[(u32, Want)]) -> Result<(), Failure> {
        let place = request_of(&self.path);
        let bytes: Vec<u8> = switches.iter().flat_map(|&(region, want)| [region, want as u32]).flat_map(u32::to_le_bytes).collect();
        let draft = place.with_extension("draft");
        match fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, &place)) {
            // The directory goes with the last process.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && self.has_ended() => return Ok(()),
            written => written.map_err(|error| Failure::io(Code::CannotWrite, "write", &place, &error))?,
        }
        let number = self.header().map_or(0, |header| header.request) + 1;
        self.word(core::mem::offset_of!(Header, request)).store(number, Ordering::Release);
        self.number = number;
        self.wake();
        self.poke();
        Ok(())
    }

    /// Wakes the thread that waits for requests in a process where something is off.
    fn wake(&mut self) {
        let word = self.half_word(core::mem::offset_of!(Header, request)).as_ptr();
        // SAFETY: a word of the mapping, of which the kernel needs the address alone.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, i32::MAX, 0, 0, 0) };
    }

    fn has_followed(&self) -> bool {
        self.header().is_some_and(|header| header.followed >= self.number)
    }

    /// Whether the process has ended, or will look at no request any more.
    fn has_ended(&self) -> bool {
        self.header().is_none_or(|header| header.state != ProcessState::Running as u32) || !is_alive(&self.path)
    }

    fn is_awaited(&self) -> bool {
        !self.has_followed() && !self.has_ended()
    }

    /// A process that ended while it was asked leaves the request, which nobody reads any more, and in memory the directory with it.
    fn withdraw_from_ended(&self) {
        if self.has_ended() && fs::remove_file(request_of(&self.path)).is_ok() {
            // Others may have something in there.
            let _ = self.path.parent().map(fs::remove_dir);
        }
    }

    /// Lets the next entry of every node take the slow path.
    fn poke(&mut self) {
        let locations = self.header().map_or(0, |header| header.locations) as usize;
        for location in 0..locations {
            let arena = HEADER_AREA as usize + location * ARENA as usize;
            let nodes = self.bytes.get(arena..).and_then(LocationRecord::from_bytes).map_or(0, |record| record.nodes.min(MAX_NODES));
            for index in 1..nodes as usize {
                let at = arena + NODES as usize + index * Node::SIZE;
                if let Some(node) = self.bytes.get(at..).and_then(Node::from_bytes) {
                    self.half_word(at + core::mem::offset_of!(Node, until)).store(node.calls as u32, Ordering::Relaxed);
                }
            }
        }
    }

    fn word(&mut self, at: usize) -> &AtomicU64 {
        // SAFETY: within the mapping, which is page aligned, at a multiple of 8.
        unsafe { AtomicU64::from_ptr(self.bytes[at..at + 8].as_mut_ptr().cast()) }
    }

    fn half_word(&mut self, at: usize) -> &AtomicU32 {
        // SAFETY: within the mapping, which is page aligned, at a multiple of 4.
        unsafe { AtomicU32::from_ptr(self.bytes[at..at + 4].as_mut_ptr().cast()) }
    }
}
