//! The description: the table that ties region numbers to the program.
//!
//! Written by the rewriter into the instrumented image and by the interposer for the MPI functions; the
//! runtime copies it, byte for byte, into the run directory as `<identity>.regions`; the tools read it.
//!
//! ```text
//! header   0 [u8;8] "TAREDESC"   8 u32 version   12 u32 regions   16 [u8;16] identity
//!         32 u64 strings: offset from the header   40 u64 strings: bytes
//!         48 u32 path   52 u32 path length        56 u32 build id (hex)   60 u32 its length
//! regions 64 + 64·i for region number i + 1:
//!          0 u8 kind   1 u8 flags   2 u16 0   4 u32 line
//!          8 u32 name  12 u32 name length   16 u32 file   20 u32 file length
//!         24 u64 address   32 u64 size   40 u32 last line   44 u32 number in its function
//!         48 u32 owner     52 u32 owner length   56 u32 parent's region number   60 u32 0
//! strings  UTF-8 without terminators, but for a zero behind the path; offsets count from the start of the strings
//! questions  [u64]: from the next multiple of 8 to the end, ascending: link addresses, in the instrumented image, to which calls
//!          come back by which the program asks MPI in passing whether something is complete
//! ```
//!
//! Version 1 has records of 48 bytes, which end in front of the owner.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::CStr;

/// First bytes of a description.
pub const MAGIC: [u8; 8] = *b"TAREDESC";
/// Version of this layout.
pub const VERSION: u32 = 2;
const HEADER: usize = 64;
const RECORD: usize = 64;
/// Bytes of a record in version 1.
const OLD_RECORD: usize = 48;

/// What a region is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum RegionKind {
    /// The whole process, or a whole thread: the root of a region graph.
    #[default]
    Program = 0,
    /// A function.
    Function = 1,
    /// An operation of MPI.
    Mpi = 2,
    /// A loop of a function: from its begin to its end.
    Loop = 3,
    /// One iteration of a loop.
    Iteration = 4,
    /// A call, as its caller sees it.
    CallSite = 5,
    /// A region that the program itself begins and ends.
    User = 6,
    /// A value that the program gave a parameter: what is below ran with it.
    Parameter = 7,
    /// A phase of the program, as it says itself.
    Phase = 8,
    /// A stretch in which the program asked for nothing to be recorded.
    Pause = 9,
    /// An operation by which threads of a process wait for one another.
    Threads = 10,
}

impl RegionKind {
    /// The kind for its number; `None` for numbers of later versions.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Program),
            1 => Some(Self::Function),
            2 => Some(Self::Mpi),
            3 => Some(Self::Loop),
            4 => Some(Self::Iteration),
            5 => Some(Self::CallSite),
            6 => Some(Self::User),
            7 => Some(Self::Parameter),
            8 => Some(Self::Phase),
            9 => Some(Self::Pause),
            10 => Some(Self::Threads),
            _ => None,
        }
    }

    /// Whether the region is a part of a function, and has its raw name.
    #[must_use]
    pub const fn is_part(self) -> bool {
        matches!(self, Self::Loop | Self::Iteration | Self::CallSite)
    }

    /// Whether the region is a function that was called through a wrapper of the tool: it has no probes, and says itself what of its
    /// time was the tool's.
    #[must_use]
    pub const fn is_wrapped(self) -> bool {
        matches!(self, Self::Mpi | Self::Threads)
    }
}

/// Set where the region contains no other region that is measured, and so may run without probes.
pub const FLAG_LEAF: u8 = 1;
/// Set on all regions of a function of which loops were asked for, whether or not any is a region.
pub const FLAG_LOOPS: u8 = 2;
/// As [`FLAG_LOOPS`], for iterations.
pub const FLAG_ITERATIONS: u8 = 4;
/// As [`FLAG_LOOPS`], for call sites.
pub const FLAG_CALL_SITES: u8 = 8;

/// One region.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Region {
    /// What it is.
    pub kind: RegionKind,
    /// [`FLAG_LEAF`], [`FLAG_LOOPS`], [`FLAG_ITERATIONS`] and [`FLAG_CALL_SITES`].
    pub flags: u8,
    /// The name as the image has it (mangled): of the function, also for its loops; of what a call site calls, empty
    /// where that is not known.
    pub name: String,
    /// Name of the function that a loop or call site is in, as the image has it; empty for others.
    pub owner: String,
    /// Number within the image of the region of that function; 0 where it has none.
    pub parent: u32,
    /// Which loop or call site of the function it is, from 0; iterations have the number of their loop.
    pub number: u32,
    /// Source file; empty where unknown.
    pub file: String,
    /// First source line; 0 where unknown.
    pub line: u32,
    /// Last source line; 0 where unknown.
    pub last_line: u32,
    /// Link address of the original; 0 for regions without one.
    pub address: u64,
    /// Bytes of the original.
    pub size: u64,
}

/// The regions of one image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// Names this description among others: a hash of all the rest of it where a rewriter has written it.
    pub identity: [u8; 16],
    /// Path of the original image, or a name such as `MPI` where there is none.
    pub path: String,
    /// Build id of the original image in hexadecimal; empty where it has none.
    pub build_id: String,
    /// Regions; the number within the image is the index plus one.
    pub regions: Vec<Region>,
}

/// Why bytes are not a description.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DescriptionError {
    /// They do not begin with [`MAGIC`].
    NotADescription,
    /// They are of a version that this reader does not know.
    UnknownVersion(u32),
    /// They end early or point outside themselves.
    Damaged,
}

impl core::fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotADescription => f.write_str("not a description of regions"),
            Self::UnknownVersion(version) => write!(f, "description of version {version}, this tool knows up to {VERSION}"),
            Self::Damaged => f.write_str("damaged description of regions"),
        }
    }
}

impl core::error::Error for DescriptionError {}

impl Description {
    /// The description as it stands in an image or a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut strings = Strings::default();
        let path = strings.put(&self.path);
        strings.bytes.push(0);
        let build_id = strings.put(&self.build_id);
        let mut records = Vec::with_capacity(self.regions.len() * RECORD);
        for region in &self.regions {
            let name = strings.put(&region.name);
            let file = strings.put(&region.file);
            let owner = strings.put(&region.owner);
            records.extend([region.kind as u8, region.flags, 0, 0]);
            for word in [region.line, name.0, name.1, file.0, file.1] {
                records.extend(word.to_le_bytes());
            }
            records.extend(region.address.to_le_bytes());
            records.extend(region.size.to_le_bytes());
            for word in [region.last_line, region.number, owner.0, owner.1, region.parent, 0] {
                records.extend(word.to_le_bytes());
            }
        }
        let count = u32::try_from(self.regions.len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(HEADER + records.len() + strings.bytes.len());
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend(self.identity);
        bytes.extend(((HEADER + records.len()) as u64).to_le_bytes());
        bytes.extend((strings.bytes.len() as u64).to_le_bytes());
        for word in [path.0, path.1, build_id.0, build_id.1] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(records);
        bytes.extend(strings.bytes);
        bytes
    }

    /// Reads a description.
    ///
    /// # Errors
    /// Where the bytes are not a description of a known version, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DescriptionError> {
        DescriptionView::of(bytes).map(|view| view.to_description())
    }
}

/// A description of regions that have names alone, none of them empty or twice, made while the program that holds it is compiled. `LENGTH` is what
/// [`length_of_names`] says.
#[must_use]
pub const fn of_names<const LENGTH: usize>(kind: RegionKind, identity: [u8; 16], path: &str, names: &[&str]) -> [u8; LENGTH] {
    let strings = HEADER + names.len() * RECORD;
    // The path comes first, with a zero behind it; there the empty text has its place.
    let empty = path.len() as u32 + 1;
    let mut bytes = [0; LENGTH];
    put(&mut bytes, 0, &MAGIC);
    put(&mut bytes, 8, &VERSION.to_le_bytes());
    put(&mut bytes, 12, &(names.len() as u32).to_le_bytes());
    put(&mut bytes, 16, &identity);
    put(&mut bytes, 32, &(strings as u64).to_le_bytes());
    put(&mut bytes, 40, &((LENGTH - strings) as u64).to_le_bytes());
    put(&mut bytes, 52, &(path.len() as u32).to_le_bytes());
    put(&mut bytes, 56, &empty.to_le_bytes());
    put(&mut bytes, strings, path.as_bytes());
    let mut at = empty;
    let mut index = 0;
    while index < names.len() {
        let (record, name) = (HEADER + index * RECORD, names[index].as_bytes());
        bytes[record] = kind as u8;
        put(&mut bytes, record + 8, &at.to_le_bytes());
        put(&mut bytes, record + 12, &(name.len() as u32).to_le_bytes());
        put(&mut bytes, record + 16, &empty.to_le_bytes());
        put(&mut bytes, record + 48, &empty.to_le_bytes());
        put(&mut bytes, strings + at as usize, name);
        at += name.len() as u32;
        index += 1;
    }
    bytes
}

/// Bytes of a description of regions that have names alone.
#[must_use]
pub const fn length_of_names(path: &str, names: &[&str]) -> usize {
    let mut length = HEADER + names.len() * RECORD + path.len() + 1;
    let mut index = 0;
    while index < names.len() {
        length += names[index].len();
        index += 1;
    }
    length
}

const fn put(bytes: &mut [u8], at: usize, part: &[u8]) {
    let mut index = 0;
    while index < part.len() {
        bytes[at + index] = part[index];
        index += 1;
    }
}

/// A description that stays where it is: regions are read when they are asked for.
#[derive(Clone, Copy, Debug)]
pub struct DescriptionView<'a> {
    bytes: &'a [u8],
    strings: &'a [u8],
    /// Bytes of a record.
    record: usize,
    count: usize,
    /// Names this description among others.
    pub identity: [u8; 16],
}

impl<'a> DescriptionView<'a> {
    /// Looks at all of a description, and copies nothing.
    ///
    /// # Errors
    /// Where the bytes are not a description of a known version, or damaged.
    pub fn of(bytes: &'a [u8]) -> Result<Self, DescriptionError> {
        let reader = Reader { bytes };
        if bytes.get(..8) != Some(&MAGIC[..]) {
            return Err(DescriptionError::NotADescription);
        }
        let version = reader.u32_at(8)?;
        let record = match version {
            VERSION => RECORD,
            1 => OLD_RECORD,
            _ => return Err(DescriptionError::UnknownVersion(version)),
        };
        let count = reader.u32_at(12)? as usize;
        let mut identity = [0; 16];
        identity.copy_from_slice(bytes.get(IDENTITY).ok_or(DescriptionError::Damaged)?);
        let strings = reader.strings(reader.u64_at(32)?, reader.u64_at(40)?)?;
        if bytes.len() < HEADER + count.saturating_mul(record) {
            return Err(DescriptionError::Damaged);
        }
        let view = Self { bytes, strings, record, count, identity };
        let is_whole = |index: usize| {
            let at = HEADER + index * record;
            let owner = if view.is_old() { Some(&[][..]) } else { view.text(at + 48) };
            RegionKind::from_number(bytes[at]).is_some() && view.text(at + 8).is_some() && view.text(at + 16).is_some() && owner.is_some()
        };
        let has_names = view.text(48).is_some() && view.text(56).is_some();
        if has_names && (0..count).all(is_whole) { Ok(view) } else { Err(DescriptionError::Damaged) }
    }

    /// All of it.
    #[must_use]
    pub fn to_description(&self) -> Description {
        let regions = (0..self.count).filter_map(|index| self.region(index)).collect();
        Description { identity: self.identity, path: self.path().to_string(), build_id: self.build_id().to_string(), regions }
    }

    /// How many regions there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Path of the original image, or a name such as `MPI` where there is none.
    #[must_use]
    pub fn path(&self) -> Cow<'a, str> {
        self.string(48)
    }

    /// Build id of the original image in hexadecimal; empty where it has none.
    #[must_use]
    pub fn build_id(&self) -> Cow<'a, str> {
        self.string(56)
    }

    /// The region whose number within the image is the index plus one.
    #[must_use]
    pub fn region(&self, index: usize) -> Option<Region> {
        if index >= self.count {
            return None;
        }
        let at = HEADER + index * self.record;
        let reader = Reader { bytes: self.bytes };
        let (word, long) = (|at: usize| reader.u32_at(at).ok(), |at: usize| reader.u64_at(at).ok());
        let is_old = self.is_old();
        Some(Region {
            kind: RegionKind::from_number(self.bytes[at])?,
            flags: self.bytes[at + 1],
            line: word(at + 4)?,
            name: self.string(at + 8).to_string(),
            owner: if is_old { String::new() } else { self.string(at + 48).to_string() },
            parent: if is_old { 0 } else { word(at + 56)? },
            number: if is_old { 0 } else { word(at + 44)? },
            file: self.string(at + 16).to_string(),
            address: long(at + 24)?,
            size: long(at + 32)?,
            last_line: word(at + 40)?,
        })
    }

    /// Records of version 1 end in front of the owner.
    fn is_old(&self) -> bool {
        self.record == OLD_RECORD
    }

    /// The text whose start and length stand there.
    fn text(&self, at: usize) -> Option<&'a [u8]> {
        let reader = Reader { bytes: self.bytes };
        let (start, length) = (reader.u32_at(at).ok()? as usize, reader.u32_at(at + 4).ok()? as usize);
        self.strings.get(start..start.checked_add(length)?)
    }

    fn string(&self, at: usize) -> Cow<'a, str> {
        String::from_utf8_lossy(self.text(at).unwrap_or_default())
    }
}

/// Makes room for so many questions behind a description.
pub fn make_room_for_questions(description: &mut Vec<u8>, questions: usize) {
    description.resize(description.len().next_multiple_of(8) + 8 * questions, 0);
}

/// Writes the questions, for which there is room.
pub fn set_questions(description: &mut [u8], questions: &[u64]) {
    let start = description.len().saturating_sub(8 * questions.len());
    for (room, question) in description[start..].chunks_exact_mut(8).zip(questions) {
        room.copy_from_slice(&question.to_le_bytes());
    }
}

/// Where its identity stands in a description.
pub const IDENTITY: core::ops::Range<usize> = 16..32;

/// Whether a call that comes back to this link address asks in passing. The description must be whole.
#[must_use]
pub fn is_question(description: &[u8], returns_to: u64) -> bool {
    let reader = Reader { bytes: description };
    let strings = reader.u64_at(32).and_then(|start| Ok(start + reader.u64_at(40)?));
    let start = strings.map_or(usize::MAX, |end| (end as usize).next_multiple_of(8));
    let (questions, _) = description.get(start..).unwrap_or_default().as_chunks::<8>();
    questions.binary_search_by_key(&returns_to, |bytes| u64::from_le_bytes(*bytes)).is_ok()
}

/// The path of the original image. The description must be whole.
#[must_use]
pub fn path_in(description: &[u8]) -> Option<&[u8]> {
    let (path, length) = from_path_on(description)?;
    path.get(..length)
}

/// The path of the original image, as C has it; `None` where no zero stands behind it: older tools wrote none. The description
/// must be whole.
#[must_use]
pub fn terminated_path_in(description: &[u8]) -> Option<&CStr> {
    let (path, length) = from_path_on(description)?;
    CStr::from_bytes_with_nul(path.get(..=length)?).ok()
}

/// The strings from that of the path on, and its length.
fn from_path_on(description: &[u8]) -> Option<(&[u8], usize)> {
    let reader = Reader { bytes: description };
    let strings = reader.strings(reader.u64_at(32).ok()?, reader.u64_at(40).ok()?).ok()?;
    Some((strings.get(reader.u32_at(48).ok()? as usize..)?, reader.u32_at(52).ok()? as usize))
}

/// Strings stored once each.
#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
    /// A table of hashes and places, of which at least half have none: a string has the first free one from that of its hash on.
    seen: Vec<(u64, Option<(u32, u32)>)>,
    count: usize,
    /// The place of the empty one, which most regions have twice.
    empty: Option<(u32, u32)>,
}

impl Strings {
    fn put(&mut self, text: &str) -> (u32, u32) {
        if text.is_empty() {
            return *self.empty.get_or_insert((self.bytes.len() as u32, 0));
        }
        if 2 * self.count >= self.seen.len() {
            self.grow();
        }
        let hash = hash(text.as_bytes());
        let index = self.find(hash, |(start, length)| self.bytes.get(start as usize..(start + length) as usize) == Some(text.as_bytes()));
        if let Some(&(_, Some(place))) = self.seen.get(index) {
            return place;
        }
        let place = (self.bytes.len() as u32, text.len() as u32);
        self.bytes.extend(text.as_bytes());
        self.note(index, hash, place);
        place
    }

    /// Where in the table the place with a hash is that is the right one; else the free one for it. There must be a free one.
    fn find(&self, hash: u64, is_right: impl Fn((u32, u32)) -> bool) -> usize {
        let mask = self.seen.len().wrapping_sub(1);
        let mut index = hash as usize & mask;
        while let Some(&(other, Some(place))) = self.seen.get(index) {
            if other == hash && is_right(place) {
                break;
            }
            index = (index + 1) & mask;
        }
        index
    }

    fn note(&mut self, index: usize, hash: u64, place: (u32, u32)) {
        if let Some(free) = self.seen.get_mut(index) {
            *free = (hash, Some(place));
            self.count += 1;
        }
    }

    fn grow(&mut self) {
        let larger = vec![(0, None); (2 * self.seen.len()).max(64)];
        let old = core::mem::replace(&mut self.seen, larger);
        self.count = 0;
        for (hash, place) in old {
            if let Some(place) = place {
                let index = self.find(hash, |_| false);
                self.note(index, hash, place);
            }
        }
    }
}

/// Spreads strings, eight bytes at a time.
fn hash(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(rest.iter().fold(hash, |hash, &byte| hash.rotate_left(8) ^ u64::from(byte)), 0)
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn u32_at(&self, at: usize) -> Result<u32, DescriptionError> {
        let word = self.bytes.get(at..at + 4).ok_or(DescriptionError::Damaged)?;
        Ok(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }

    fn u64_at(&self, at: usize) -> Result<u64, DescriptionError> {
        Ok(u64::from(self.u32_at(at)?) | u64::from(self.u32_at(at + 4)?) << 32)
    }

    fn strings(&self, start: u64, length: u64) -> Result<&'a [u8], DescriptionError> {
        let start = usize::try_from(start).map_err(|_| DescriptionError::Damaged)?;
        let length = usize::try_from(length).map_err(|_| DescriptionError::Damaged)?;
        let end = start.checked_add(length).ok_or(DescriptionError::Damaged)?;
        self.bytes.get(start..end).ok_or(DescriptionError::Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Description {
        let region = |name: &str, line| Region {
            kind: RegionKind::Function,
            flags: FLAG_LEAF,
            name: name.into(),
            file: "solver.f90".into(),
            line,
            last_line: line + 9,
            address: 0x40_1000,
            size: 64,
            ..Region::default()
        };
        let call = Region { kind: RegionKind::CallSite, owner: "größe".into(), parent: 3, number: 5, ..region("MAIN__", 2) };
        Description {
            identity: [7; 16],
            path: "/usr/bin/app".into(),
            build_id: "c0ffee".into(),
            regions: alloc::vec![region("__solver_MOD_step", 12), region("MAIN__", 80), region("größe", 1), call],
        }
    }

    #[test]
    fn questions_stand_behind_a_description_and_are_found() {
        let mut bytes = sample().to_bytes();
        assert!(!is_question(&bytes, 0x10) && !is_question(&[], 0x10));
        make_room_for_questions(&mut bytes, 3);
        set_questions(&mut bytes, &[0x10, 0x20, 0x7fff_0000_0000]);
        assert_eq!(Description::from_bytes(&bytes), Ok(sample()));
        let found: Vec<u64> =
            [0, 0xf, 0x10, 0x11, 0x20, 0x30, 0x7fff_0000_0000].into_iter().filter(|&address| is_question(&bytes, address)).collect();
        assert_eq!(found, [0x10, 0x20, 0x7fff_0000_0000]);
    }

    #[test]
    fn a_description_of_names_made_beforehand_has_the_same_bytes() {
        const NAMES: [&str; 3] = ["pthread_join", "omp barrier", "größe"];
        static MADE: [u8; length_of_names("threads", &NAMES)] = of_names(RegionKind::Threads, [9; 16], "threads", &NAMES);
        let regions = NAMES.iter().map(|&name| Region { kind: RegionKind::Threads, name: name.into(), ..Region::default() }).collect();
        let description = Description { identity: [9; 16], path: "threads".into(), build_id: String::new(), regions };
        assert_eq!(MADE.as_slice(), description.to_bytes());
    }

    #[test]
    fn the_path_is_found_in_the_bytes_and_ends_with_a_zero() {
        let mut bytes = sample().to_bytes();
        assert_eq!(terminated_path_in(&bytes).map(CStr::to_bytes), Some(sample().path.as_bytes()));
        let zero = bytes.iter().rposition(|&byte| byte == 0).expect("it is there");
        bytes[zero] = b'x';
        assert_eq!((path_in(&bytes), terminated_path_in(&bytes)), (Some(sample().path.as_bytes()), None));
    }

    #[test]
    fn a_description_reads_back_as_written() {
        let sample = sample();
        assert_eq!(Description::from_bytes(&sample.to_bytes()), Ok(sample));
    }

    #[test]
    fn every_truncation_is_an_error_and_none_a_panic() {
        let bytes = sample().to_bytes();
        for length in 0..bytes.len() {
            assert!(Description::from_bytes(&bytes[..length]).is_err(), "{length} bytes were accepted");
        }
    }
}
