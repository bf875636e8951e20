//! Regions over all images: one entry for each image, address and name, however many processes loaded it.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroU32;

use tare_format::description::{DescriptionError, DescriptionView, FLAG_LEAF, RegionKind};

use crate::model::RegionIndex;
use crate::name::Name;

/// A piece of program that is measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// What it is.
    pub kind: RegionKind,
    /// The name for people.
    pub name: Name,
    /// The name as the image has it.
    pub raw_name: String,
    /// Path of the image, or a name such as `MPI`.
    pub image: String,
    /// Build id of the image in hexadecimal; empty where it has none.
    pub build_id: String,
    /// Link address; 0 where there is none.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Source file; empty where unknown.
    pub file: String,
    /// First source line; 0 where unknown.
    pub line: u32,
    /// It runs without probes at times: no measured region can be called in it.
    pub leaf: bool,
}

impl Region {
    /// One of which no more is known than its name and that of its image.
    #[must_use]
    pub fn named(kind: RegionKind, name: &str, image: &str) -> Self {
        Self {
            kind,
            name: name.into(),
            raw_name: name.to_string(),
            image: image.to_string(),
            build_id: String::new(),
            address: 0,
            size: 0,
            file: String::new(),
            line: 0,
            leaf: false,
        }
    }

    /// Whether it is a function whose name is to be found from its address.
    #[must_use]
    pub fn is_nameless(&self) -> bool {
        self.kind == RegionKind::Function && self.raw_name.is_empty() && self.address != 0
    }

    /// Whether it is the operation that begins a team of threads and waits until all of them are done.
    #[must_use]
    pub fn ends_team(&self) -> bool {
        self.kind == RegionKind::Threads && *self.name == *"omp parallel"
    }

    /// Names a function that was known by its address alone.
    pub fn name_function(&mut self, raw_name: &str) {
        self.name = Name::of_function(raw_name);
        self.raw_name = raw_name.to_string();
    }
}

/// All regions of descriptions, whether or not they were met; those that cannot be read are left out.
#[must_use]
pub fn described(descriptions: &[&[u8]]) -> Vec<Region> {
    let mut table = RegionTable::default();
    for bytes in descriptions {
        // What a damaged one lacks the profile says.
        let _ = table.add_description(bytes);
    }
    for place in 0..table.descriptions.len() {
        let mut number = 1;
        while table.of_image(DescriptionIndex(place), number).is_some() {
            number += 1;
        }
    }
    table.finish()
}

/// A region that a process named itself.
pub(crate) struct Named {
    pub(crate) kind: RegionKind,
    /// Empty for functions.
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) build_id: String,
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) address: u64,
}

impl From<Named> for Region {
    fn from(named: Named) -> Self {
        let is_nameless = named.kind == RegionKind::Function && named.name.is_empty();
        let name = if is_nameless { format!("{:#x} in {}", named.address, named.image) } else { named.name.clone() };
        Self {
            kind: named.kind,
            name: name.into(),
            raw_name: named.name,
            image: named.image,
            build_id: named.build_id,
            address: named.address,
            size: 0,
            file: named.file,
            line: named.line,
            leaf: false,
        }
    }
}

/// What tells regions apart: image, address, kind, name.
type Key = (String, u64, RegionKind, String);

/// Which of the descriptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DescriptionIndex(usize);

/// A description and what was met of it.
struct Described<'a> {
    view: DescriptionView<'a>,
    /// By number the index of the region plus one, so that a name is found once, and on most of the many call paths of all processes without a
    /// hash. There is room for all numbers or none: zeros that nobody writes take no memory.
    found: Vec<Option<NonZeroU32>>,
}

/// Collects regions while files are read.
#[derive(Default)]
pub(crate) struct RegionTable<'a> {
    descriptions: Vec<Described<'a>>,
    /// Where the description with an identity stands.
    by_identity: HashMap<[u8; 16], DescriptionIndex>,
    /// Identities that were asked for and have none.
    undescribed: BTreeSet<[u8; 16]>,
    regions: Vec<Region>,
    known: HashMap<Key, RegionIndex>,
}

impl<'a> RegionTable<'a> {
    pub(crate) fn add_description(&mut self, bytes: &'a [u8]) -> Result<(), DescriptionError> {
        let description = DescriptionView::of(bytes)?;
        // Room that is not filled takes no memory, and what grows is copied.
        self.regions.reserve(description.count());
        self.by_identity.insert(description.identity, DescriptionIndex(self.descriptions.len()));
        self.descriptions.push(Described { view: description, found: Vec::new() });
        Ok(())
    }

    /// The description with this identity.
    pub(crate) fn description(&mut self, identity: &[u8; 16]) -> Option<DescriptionIndex> {
        let found = self.by_identity.get(identity).copied();
        if found.is_none() {
            self.undescribed.insert(*identity);
        }
        found
    }

    /// Identities that have no description, of all that were asked for.
    pub(crate) fn undescribed(&self) -> &BTreeSet<[u8; 16]> {
        &self.undescribed
    }

    /// The region with this number within the image of a description.
    pub(crate) fn of_image(&mut self, DescriptionIndex(place): DescriptionIndex, number: u32) -> Option<RegionIndex> {
        let number = (number as usize).checked_sub(1)?;
        let Described { view: description, found } = &self.descriptions[place];
        if let Some(&Some(known)) = found.get(number) {
            return Some(RegionIndex(known.get() as usize - 1));
        }
        let region = description.region(number)?;
        let image = description.path().into_owned();
        let key = (image.clone(), region.address, region.kind, region.name.clone());
        let made = Region {
            kind: region.kind,
            name: Name::of(&region),
            raw_name: region.name,
            image,
            build_id: description.build_id().into_owned(),
            address: region.address,
            size: region.size,
            file: region.file,
            line: region.line,
            leaf: region.flags & FLAG_LEAF != 0,
        };
        let index = self.intern(key, made);
        let Described { view: description, found } = &mut self.descriptions[place];
        if found.is_empty() {
            *found = vec![None; description.count()];
        }
        found[number] = u32::try_from(index.0 + 1).ok().and_then(NonZeroU32::new);
        Some(index)
    }

    /// A region that a process named itself.
    pub(crate) fn named(&mut self, named: Named) -> RegionIndex {
        let place = format!("{}\0{}\0{}", named.name, named.file, named.line);
        let key = (named.image.clone(), named.address, named.kind, place);
        self.intern(key, named.into())
    }

    /// A region that no description holds: a root, the overflow, or one whose description is missing.
    pub(crate) fn made_up(&mut self, kind: RegionKind, name: &str, image: &str) -> RegionIndex {
        self.intern((image.to_string(), 0, kind, name.to_string()), Region::named(kind, name, image))
    }

    pub(crate) fn kind(&self, region: RegionIndex) -> RegionKind {
        self.regions[region.0].kind
    }

    pub(crate) fn finish(self) -> Vec<Region> {
        self.regions
    }

    fn intern(&mut self, key: Key, region: Region) -> RegionIndex {
        *self.known.entry(key).or_insert_with(|| {
            self.regions.push(region);
            RegionIndex(self.regions.len() - 1)
        })
    }
}
