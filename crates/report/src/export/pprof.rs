//! The format of `pprof`: a protocol buffer, gzipped
//! (<https://github.com/google/pprof/blob/main/proto/profile.proto>). The fields' numbers are those of that file.

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::sheet::Sheet;
use super::{held, title};
use crate::run::{Results, Run};

/// A message of a protocol buffer while it is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn packed(&mut self, field: u64, values: impl Iterator<Item = u64>) {
        let mut inner = Self::default();
        values.for_each(|value| inner.varint(value));
        self.bytes(field, &inner.0);
    }
}

/// Strings by number; number 0 is the empty one.
struct Strings {
    all: Vec<String>,
    known: HashMap<String, u64>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.known.get(text) {
            return number;
        }
        self.all.push(held(text, &[]));
        let number = (self.all.len() - 1) as u64;
        self.known.insert(text.to_string(), number);
        number
    }
}

pub(super) fn write(run: &Run, results: &Results<'_>, sheet: &Sheet<'_>) -> Vec<u8> {
    let mut strings = Strings { all: vec![String::new()], known: HashMap::from([(String::new(), 0)]) };
    let mut profile = Message::default();
    for (kind, unit) in [("calls", "count"), ("time", "nanoseconds"), ("waiting", "nanoseconds"), ("measured", "nanoseconds")] {
        let mut value = Message::default();
        value.number(1, strings.number(kind));
        value.number(2, strings.number(unit));
        profile.bytes(1, &value.0);
    }
    let mut places = Places::default();
    let locations: Vec<u64> = sheet.paths.iter().map(|path| places.location(path, &mut strings)).collect();
    sheet.stacks(|stack, path| {
        let values = [path.calls, path.exclusive_ns, path.wait_ns, path.measured_ns];
        if values.iter().any(|&value| value > 0) {
            let mut sample = Message::default();
            sample.packed(1, stack.iter().rev().map(|&index| locations[index]));
            sample.packed(2, values.into_iter());
            profile.bytes(2, &sample.0);
        }
    });
    places.messages.iter().for_each(|(field, message)| profile.bytes(*field, &message.0));
    let comment = strings.number(&title(run, results));
    let time = strings.number("time");
    let start = results.profile.processes.iter().map(|process| process.start_ns).min().unwrap_or(0);
    for text in &strings.all {
        profile.bytes(6, text.as_bytes());
    }
    profile.number(9, start);
    profile.number(10, (run.wall_s.max(0.0) * 1e9) as u64);
    profile.packed(13, std::iter::once(comment));
    profile.number(14, time);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing into memory does not fail.
    let _ = encoder.write_all(&profile.0);
    encoder.finish().unwrap_or_default()
}

/// Mappings, locations and functions, each with the number of its field in the profile.
#[derive(Default)]
struct Places {
    messages: Vec<(u64, Message)>,
    mappings: HashMap<String, u64>,
    locations: HashMap<(String, String, u64), u64>,
}

impl Places {
    /// The location of a path's region, with its function and mapping; each is written once.
    fn location(&mut self, path: &super::sheet::Path<'_>, strings: &mut Strings) -> u64 {
        let address = path.region.map_or(0, |region| region.address);
        let key = (path.image().to_string(), path.name().to_string(), address);
        if let Some(&known) = self.locations.get(&key) {
            return known;
        }
        let id = self.locations.len() as u64 + 1;
        self.locations.insert(key, id);
        let mapping = self.mapping(path, strings);
        let mut function = Message::default();
        function.number(1, id);
        function.number(2, strings.number(path.name()));
        function.number(3, strings.number(path.region.map_or("", |region| region.raw_name.as_str())));
        function.number(4, strings.number(path.file()));
        function.number(5, u64::from(path.line()));
        self.messages.push((5, function));
        let mut line = Message::default();
        line.number(1, id);
        line.number(2, u64::from(path.line()));
        let mut location = Message::default();
        location.number(1, id);
        location.number(2, mapping);
        location.number(3, address);
        location.bytes(4, &line.0);
        self.messages.push((4, location));
        id
    }

    /// The image; without one that has all names, `pprof` looks for the executable.
    fn mapping(&mut self, path: &super::sheet::Path<'_>, strings: &mut Strings) -> u64 {
        if let Some(&known) = self.mappings.get(path.image()) {
            return known;
        }
        let id = self.mappings.len() as u64 + 1;
        self.mappings.insert(path.image().to_string(), id);
        let mut mapping = Message::default();
        mapping.number(1, id);
        mapping.number(5, strings.number(path.image()));
        mapping.number(6, strings.number(path.region.map_or("", |region| region.build_id.as_str())));
        (7..=9).for_each(|has| mapping.number(has, 1));
        self.messages.push((3, mapping));
        id
    }
}
