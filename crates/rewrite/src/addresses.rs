//! Maps from addresses.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map from addresses, to addresses if nothing else is said, fast because nobody chooses addresses to collide.
pub(crate) type AddressMap<T = u64> = HashMap<u64, T, BuildHasherDefault<AddressHasher>>;

/// Addresses are spread by a multiplication; collisions cost time only.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}
