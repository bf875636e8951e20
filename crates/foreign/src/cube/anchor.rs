//! What the XML of a file of Cube says: metrics, call paths with their regions, and locations.

use std::collections::HashMap;

use roxmltree::{Document, Node};
use tare_profile::{Process, RegionIndex, RegionKind};

use super::rows::Rows;
use crate::error::ForeignError;
use crate::model::{COMPENSATION, Known, Regions, compensated, process};

/// The program of a title. Our own title says behind it what the times are.
fn program(title: &str, compensation: &str) -> String {
    let behind = match compensation {
        "" => return title.to_string(),
        "off" => ", as measured".to_string(),
        mode => format!(", compensated ({mode})"),
    };
    title.strip_suffix(&behind).unwrap_or(title).to_string()
}

/// The XML, read.
pub(super) struct Anchor {
    pub(super) tool: String,
    pub(super) compensated: Option<&'static str>,
    pub(super) program: String,
    pub(super) metrics: Vec<Metric>,
    pub(super) regions: Regions,
    /// Depth first: a parent before its children.
    pub(super) paths: Vec<Path>,
    /// The paths, by the order of rows of inclusive metrics.
    pub(super) wide: Vec<usize>,
    /// The paths by their ids.
    pub(super) of_id: HashMap<u32, usize>,
    pub(super) processes: Vec<Process>,
    pub(super) ranks: Vec<u32>,
    /// By id.
    pub(super) locations: Vec<Place>,
}

/// A metric.
pub(super) struct Metric {
    pub(super) id: u32,
    pub(super) name: String,
    /// Type of its values.
    pub(super) kind: String,
    pub(super) is_inclusive: bool,
    parent: Option<u32>,
}

/// A call path.
pub(super) struct Path {
    pub(super) region: RegionIndex,
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
    /// It stands for the program as a whole.
    pub(super) is_program: bool,
}

/// A location.
pub(super) struct Place {
    pub(super) process: usize,
    pub(super) thread: u32,
}

type Xml<'a, 'i> = Node<'a, 'i>;

fn child<'a, 'i>(node: Xml<'a, 'i>, name: &str) -> Option<Xml<'a, 'i>> {
    node.children().find(|child| child.has_tag_name(name))
}

fn text(node: Xml<'_, '_>, name: &str) -> String {
    child(node, name).and_then(|child| child.text()).unwrap_or_default().trim().to_string()
}

/// A number that an element must have: newer files write `Id` where older ones write `id`.
fn id(node: Xml<'_, '_>) -> Result<u32, ForeignError> {
    let id = node.attribute("id").or(node.attribute("Id")).and_then(|id| id.trim().parse().ok());
    id.ok_or_else(|| ForeignError::part("anchor.xml", format!("an element `{}` without id", node.tag_name().name())))
}

impl Anchor {
    pub(super) fn of(document: &Document<'_>) -> Result<Self, ForeignError> {
        let root = document.root_element();
        let section = |name: &str| child(root, name).ok_or_else(|| ForeignError::part("anchor.xml", format!("no element `{name}`")));
        let attribute = |key: &str| {
            let found = root.children().find(|child| child.has_tag_name("attr") && child.attribute("key") == Some(key));
            found.and_then(|found| found.attribute("value")).unwrap_or_default().to_string()
        };
        let mut anchor = Self {
            tool: Some(attribute("Creator")).filter(|creator| !creator.is_empty()).unwrap_or_else(|| "Cube".to_string()),
            compensated: compensated(&attribute(COMPENSATION)),
            program: program(&attribute("Title"), &attribute(COMPENSATION)),
            metrics: Vec::new(),
            regions: Regions::default(),
            paths: Vec::new(),
            wide: Vec::new(),
            of_id: HashMap::new(),
            processes: Vec::new(),
            ranks: Vec::new(),
            locations: Vec::new(),
        };
        for metric in section("metrics")?.descendants().filter(|node| node.has_tag_name("metric")) {
            let parent = metric.parent().filter(|parent| parent.has_tag_name("metric")).and_then(|parent| id(parent).ok());
            let is_inclusive = metric.attribute("type") == Some("INCLUSIVE");
            anchor.metrics.push(Metric { id: id(metric)?, name: text(metric, "uniq_name"), kind: text(metric, "dtype"), is_inclusive, parent });
        }
        anchor.call_paths(section("program")?)?;
        anchor.system(section("system")?)?;
        Ok(anchor)
    }

    /// The metrics that count something beside visits.
    pub(super) fn counts(&self) -> Vec<&str> {
        let is_whole = |metric: &&Metric| metric.kind.to_uppercase().contains("INT");
        let names = self.metrics.iter().filter(is_whole).map(|metric| metric.name.as_str());
        names.filter(|&name| name != "visits").take(super::MOST_COUNTS).collect()
    }

    /// The ids of a metric and all below it.
    pub(super) fn metrics_below(&self, metric: &Metric) -> Vec<u32> {
        let mut ids = vec![metric.id];
        // Parents stand before what is below them.
        let below = self.metrics.iter().filter_map(|metric| Some((metric.parent?, metric.id)));
        below.for_each(|(parent, id)| {
            if ids.contains(&parent) {
                ids.push(id);
            }
        });
        ids
    }

    /// Whether a location has taken a path: any of its own values is not 0.
    pub(super) fn is_taken(&self, path: usize, place: usize, rows: &[Option<&Rows>]) -> bool {
        rows.iter().flatten().any(|rows| rows.value(path, place) != 0.0)
    }

    fn call_paths(&mut self, program: Xml<'_, '_>) -> Result<(), ForeignError> {
        let mut regions: HashMap<u32, (RegionIndex, bool)> = HashMap::new();
        for region in program.children().filter(|node| node.has_tag_name("region")) {
            let (known, is_program) = known(region);
            regions.insert(id(region)?, (self.regions.intern(known), is_program));
        }
        // Older files name a region by the place of its call.
        let mut called: HashMap<&str, &str> = HashMap::new();
        for site in program.children().filter(|node| node.has_tag_name("csite")) {
            let callee = child(site, "callee").and_then(|callee| callee.attribute("region"));
            if let (Some(id), Some(callee)) = (site.attribute("id"), callee) {
                called.insert(id, callee);
            }
        }
        let is_path = |node: &Xml<'_, '_>| node.has_tag_name("cnode");
        let mut stack: Vec<(Xml<'_, '_>, Option<usize>)> = program.children().filter(is_path).map(|node| (node, None)).collect();
        stack.reverse();
        while let Some((node, parent)) = stack.pop() {
            let callee = node.attribute("calleeId").or_else(|| called.get(node.attribute("csite")?).copied());
            let region = callee.and_then(|callee| regions.get(&callee.trim().parse::<u32>().ok()?));
            let &(region, is_program) = region.ok_or_else(|| ForeignError::part("anchor.xml", "a call path without a region"))?;
            let index = self.paths.len();
            self.paths.push(Path { region, parent, children: Vec::new(), is_program });
            self.of_id.insert(id(node)?, index);
            if let Some(parent) = parent {
                self.paths[parent].children.push(index);
            }
            let below: Vec<_> = node.children().filter(is_path).map(|child| (child, Some(index))).collect();
            stack.extend(below.into_iter().rev());
        }
        self.wide = self.widely();
        Ok(())
    }

    /// All children of a path before what is below them.
    fn widely(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.paths.len());
        for root in (0..self.paths.len()).filter(|&path| self.paths[path].parent.is_none()) {
            order.push(root);
            let mut stack = vec![root];
            while let Some(path) = stack.pop() {
                order.extend(&self.paths[path].children);
                stack.extend(self.paths[path].children.iter().rev());
            }
        }
        order
    }

    fn system(&mut self, system: Xml<'_, '_>) -> Result<(), ForeignError> {
        let mut places: Vec<(u32, Place)> = Vec::new();
        for group in system.descendants().filter(|node| node.has_tag_name("locationgroup") || node.has_tag_name("process")) {
            let index = self.processes.len();
            let rank = text(group, "rank").parse().unwrap_or(u32::try_from(index).unwrap_or(u32::MAX));
            let host = group.parent().map_or_else(String::new, |node| text(node, "name"));
            let host = host.strip_prefix("node ").unwrap_or(&host).to_string();
            self.processes.push(process(text(group, "name"), host, rank, self.program.clone()));
            self.ranks.push(rank);
            for (thread, place) in group.children().filter(|node| node.has_tag_name("location") || node.has_tag_name("thread")).enumerate() {
                let thread = text(place, "rank").parse().unwrap_or(u32::try_from(thread).unwrap_or(u32::MAX));
                places.push((id(place)?, Place { process: index, thread }));
            }
        }
        places.sort_by_key(|(id, _)| *id);
        self.locations = places.into_iter().map(|(_, place)| place).collect();
        Ok(())
    }
}

/// A region, and whether it stands for the program as a whole.
fn known(region: Xml<'_, '_>) -> (Known, bool) {
    let (name, raw_name) = (text(region, "name"), text(region, "mangled_name"));
    let (paradigm, role) = (text(region, "paradigm"), text(region, "role"));
    let file = region.attribute("mod").unwrap_or_default();
    let is_mpi = paradigm == "mpi" || (name.starts_with("MPI_") && file == "MPI");
    let kind = match role.as_str() {
        _ if is_mpi => RegionKind::Mpi,
        "loop" => RegionKind::Loop,
        _ => RegionKind::Function,
    };
    let line = region.attribute("begin").and_then(|line| line.trim().parse().ok()).unwrap_or(0);
    let file = if is_mpi { String::new() } else { file.to_string() };
    let raw_name = if raw_name.is_empty() { name.clone() } else { raw_name };
    let is_program = role == "program" || (role == "artificial" && matches!(paradigm.as_str(), "user" | "measurement"));
    (Known { kind, name, raw_name, file, line }, is_program)
}
