//! Maps and sets of addresses and indices, whose hash is a product: what is asked for every branch of an image must not
//! cost more than finding the branch.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map from addresses or indices.
pub(crate) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<Product>>;
/// A set of addresses or indices.
pub(crate) type QuickSet<K> = HashSet<K, BuildHasherDefault<Product>>;

/// Multiplies by an odd number, and folds the upper half, which all bits of the key have reached, onto the lower one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Product(u64);

impl Hasher for Product {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::QuickSet;

    #[test]
    fn keys_that_differ_in_any_bit_are_told_apart() {
        let keys: Vec<u64> = (0..64).map(|bit| 1 << bit).chain((0..10_000).map(|one| one << 12)).collect();
        let set: QuickSet<u64> = keys.iter().copied().collect();
        assert!(keys.iter().all(|key| set.contains(key)) && !set.contains(&3));
    }
}
