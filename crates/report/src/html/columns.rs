//! Columns of numbers in the file: little-endian, the bytes of equal weight together, deflated, in base64.
//!
//! Bytes of equal weight hardly differ from row to row, so that they shrink well; base64 has no character that ends a script.

use std::collections::BTreeMap;
use std::io::Write;

use base64::Engine;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;

/// A table of columns with as many rows each.
#[derive(Serialize, Default)]
pub(super) struct Table {
    rows: usize,
    columns: BTreeMap<&'static str, (&'static str, String)>,
}

impl Table {
    pub(super) fn new(rows: usize) -> Self {
        Self { rows, columns: BTreeMap::new() }
    }

    fn with<const N: usize>(mut self, name: &'static str, kind: &'static str, values: impl Iterator<Item = [u8; N]>) -> Self {
        let values: Vec<[u8; N]> = values.collect();
        let mut planes = Vec::with_capacity(values.len() * N);
        for byte in 0..N {
            planes.extend(values.iter().map(|value| value[byte]));
        }
        self.columns.insert(name, (kind, packed(&planes)));
        self
    }

    pub(super) fn u32(self, name: &'static str, values: impl Iterator<Item = u32>) -> Self {
        self.with(name, "u32", values.map(u32::to_le_bytes))
    }

    pub(super) fn u8(self, name: &'static str, values: impl Iterator<Item = u8>) -> Self {
        self.with(name, "u8", values.map(|value| [value]))
    }

    /// Whole numbers, such as counts.
    pub(super) fn whole(self, name: &'static str, values: impl Iterator<Item = u64>) -> Self {
        self.with(name, "f64", values.map(|value| (value as f64).to_le_bytes()))
    }

    /// Seconds to the nanosecond.
    pub(super) fn seconds(self, name: &'static str, values: impl Iterator<Item = f64>) -> Self {
        self.with(name, "f64", values.map(|value| finite(value * 1e9).round().to_le_bytes()))
    }

    /// Seconds in seven digits: for times that are held against each other.
    pub(super) fn fine(self, name: &'static str, values: impl Iterator<Item = f64>) -> Self {
        self.with(name, "f32", values.map(|value| ((finite(value) * 1e9) as f32).to_le_bytes()))
    }

    /// Seconds in four digits: for what is drawn and for half-widths.
    pub(super) fn rough(self, name: &'static str, values: impl Iterator<Item = f64>) -> Self {
        self.with(name, "f32", values.map(|value| rounded((finite(value) * 1e9) as f32).to_le_bytes()))
    }
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// Twelve bits of the mantissa: an error of 0.012 %.
fn rounded(value: f32) -> f32 {
    const DROPPED: u32 = 11;
    let bits = value.to_bits().saturating_add(1 << (DROPPED - 1));
    let kept = f32::from_bits(bits & !((1 << DROPPED) - 1));
    if kept.is_finite() { kept } else { value }
}

/// Bytes deflated and in base64.
pub(super) fn packed(bytes: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    // Writing into memory does not fail.
    let _ = encoder.write_all(bytes);
    base64::engine::general_purpose::STANDARD.encode(encoder.finish().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn rough_values_are_off_by_a_ten_thousandth_at_most() {
        for value in [0.0, 1.0, -3.25e9, 7.777e-12, 123_456_790.0, f32::MAX] {
            assert!((rounded(value) - value).abs() <= 1.3e-4 * value.abs(), "{value}");
        }
    }
}
