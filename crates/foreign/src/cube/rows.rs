//! Values of a metric: a row for each call path that has any, a value in it for each location.

use std::collections::HashMap;

use roxmltree::Document;

use super::anchor::{Anchor, Metric};
use crate::error::ForeignError;

/// Values by call path and location.
pub(super) struct Rows {
    is_inclusive: bool,
    of_path: HashMap<usize, Vec<f64>>,
}

impl Rows {
    /// The value of a path itself at a location, as it stands.
    pub(super) fn value(&self, path: usize, place: usize) -> f64 {
        self.of_path.get(&path).and_then(|row| row.get(place)).copied().unwrap_or(0.0)
    }

    /// The value without those of the paths below.
    pub(super) fn exclusive(&self, anchor: &Anchor, path: usize, place: usize) -> f64 {
        let own = self.value(path, place);
        if !self.is_inclusive {
            return own;
        }
        let below: f64 = anchor.paths[path].children.iter().map(|&child| self.value(child, place)).sum();
        // What is left of a sum of floats is no time.
        if (own - below).abs() < 1e-12 * own.abs() { 0.0 } else { own - below }
    }

    /// From the two files of a metric, with their names.
    pub(super) fn read(
        anchor: &Anchor,
        metric: &Metric,
        (index_name, index): (&str, &[u8]),
        (data_name, data): (&str, &[u8]),
    ) -> Result<Self, ForeignError> {
        let wrong = |what: &str| ForeignError::part(index_name, what);
        let mut index =
            Bytes { rest: index.strip_prefix(b"CUBEX.INDEX").ok_or_else(|| wrong("`CUBEX.INDEX` is expected at its begin"))?, is_swapped: false };
        index.is_swapped = index.number::<4>().ok_or_else(|| wrong("it ends early"))? != 1;
        index.take(3).ok_or_else(|| wrong("it ends early"))?;
        let count = index.number::<4>().ok_or_else(|| wrong("it ends early"))?;
        let order = |row: usize| if metric.is_inclusive { anchor.wide.get(row).copied() } else { (row < anchor.paths.len()).then_some(row) };
        let mut paths = Vec::new();
        for _ in 0..count {
            let row = index.number::<4>().and_then(|row| usize::try_from(row).ok()).ok_or_else(|| wrong("it ends early"))?;
            paths.push(order(row).ok_or_else(|| wrong("a row beyond the call paths"))?);
        }
        let wrong = |what: &str| ForeignError::part(data_name, what);
        let kind = Value::of(&metric.kind).ok_or_else(|| wrong("its kind of values is not known"))?;
        let locations = anchor.locations.len();
        let unpacked: Vec<u8>;
        let data = match (data.strip_prefix(b"CUBEX.DATA"), data.strip_prefix(b"ZCUBEX.DATA")) {
            (Some(plain), _) => plain,
            (None, Some(packed)) => {
                unpacked = inflated(Bytes { rest: packed, is_swapped: index.is_swapped }, paths.len() * locations * kind.width())
                    .ok_or_else(|| wrong("its packed values are damaged"))?;
                unpacked.as_slice()
            }
            (None, None) => return Err(wrong("`CUBEX.DATA` is expected at its begin")),
        };
        let mut data = Bytes { rest: data, is_swapped: index.is_swapped };
        let mut of_path = HashMap::new();
        for path in paths {
            let row: Option<Vec<f64>> = (0..locations).map(|_| kind.read(&mut data)).collect();
            of_path.insert(path, row.ok_or_else(|| wrong("it ends early"))?);
        }
        Ok(Self { is_inclusive: metric.is_inclusive, of_path })
    }

    /// From the values in the XML of the older format, summed over metrics.
    pub(super) fn of_matrices(anchor: &Anchor, document: &Document<'_>, metrics: &[u32]) -> Result<Self, ForeignError> {
        let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<u32>().ok());
        let mut of_path: HashMap<usize, Vec<f64>> = HashMap::new();
        let matrices = document.descendants().filter(|node| node.has_tag_name("matrix"));
        for matrix in matrices.filter(|matrix| number(matrix.attribute("metricId")).is_some_and(|id| metrics.contains(&id))) {
            for row in matrix.children().filter(|node| node.has_tag_name("row")) {
                let path = number(row.attribute("cnodeId")).and_then(|id| anchor.of_id.get(&id));
                let &path = path.ok_or_else(|| ForeignError::part("severity", "a row without a call path"))?;
                let values = of_path.entry(path).or_insert_with(|| vec![0.0; anchor.locations.len()]);
                for (value, text) in values.iter_mut().zip(row.text().unwrap_or_default().split_whitespace()) {
                    *value += text.parse::<f64>().map_err(|_| ForeignError::part("severity", format!("`{text}` is no number")))?;
                }
            }
        }
        Ok(Self { is_inclusive: false, of_path })
    }
}

/// A kind of values.
#[derive(Clone, Copy)]
enum Value {
    Float,
    Unsigned(usize),
    Signed(usize),
}

impl Value {
    fn of(name: &str) -> Option<Self> {
        Some(match name.trim().to_uppercase().as_str() {
            "DOUBLE" | "FLOAT" | "MINDOUBLE" | "MAXDOUBLE" => Self::Float,
            "UINT64" | "UNSIGNED INTEGER" => Self::Unsigned(8),
            "INT64" | "INTEGER" | "SIGNED INTEGER" => Self::Signed(8),
            "UINT32" | "UNSIGNED INT" => Self::Unsigned(4),
            "INT32" | "INT" | "SIGNED INT" => Self::Signed(4),
            _ => return None,
        })
    }

    fn width(self) -> usize {
        match self {
            Self::Float => 8,
            Self::Unsigned(width) | Self::Signed(width) => width,
        }
    }

    fn read(self, bytes: &mut Bytes<'_>) -> Option<f64> {
        Some(match self {
            Self::Float => Some(f64::from_bits(bytes.number::<8>()?)).filter(|value| value.is_finite())?,
            Self::Unsigned(4) => bytes.number::<4>()? as f64,
            Self::Signed(4) => f64::from((bytes.number::<4>()? as u32).cast_signed()),
            Self::Unsigned(_) => bytes.number::<8>()? as f64,
            Self::Signed(_) => bytes.number::<8>()?.cast_signed() as f64,
        })
    }
}

/// Numbers one after the other.
struct Bytes<'a> {
    rest: &'a [u8],
    /// They were written where the greatest byte comes first.
    is_swapped: bool,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn number<const WIDTH: usize>(&mut self) -> Option<u64> {
        let bytes = self.take(WIDTH)?;
        let add = |number: u64, &byte: &u8| (number << 8) | u64::from(byte);
        Some(if self.is_swapped { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) })
    }
}

/// Packed values: a number of pieces, where each begins and how long it is, and the pieces. They are `size` bytes at most.
fn inflated(mut packed: Bytes<'_>, size: usize) -> Option<Vec<u8>> {
    let pieces = packed.number::<8>()?;
    let mut lengths = Vec::new();
    for _ in 0..pieces {
        packed.take(16)?;
        lengths.push(usize::try_from(packed.number::<8>()?).ok()?);
    }
    let mut values = Vec::new();
    for length in lengths.into_iter().filter(|&length| length > 0) {
        let piece = packed.take(length)?;
        let mut unpacked = std::io::Read::take(flate2::read::ZlibDecoder::new(piece), (size - values.len()) as u64);
        std::io::Read::read_to_end(&mut unpacked, &mut values).ok()?;
    }
    Some(values)
}
