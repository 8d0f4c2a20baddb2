//! Hashes of traces' ids.
//!
//! Ids that come from other services may be chosen by an attacker, so that they share a hash
//! without a key. The hash of the standard library takes twenty times as long.

use core::hash::{BuildHasher, Hasher};
use std::hash::RandomState;

/// Hashes ids with a key of its own.
#[derive(Clone)]
pub(super) struct ByTrace {
    key: [u64; 2],
}

impl Default for ByTrace {
    fn default() -> Self {
        let random = RandomState::new();
        Self { key: [random.hash_one(0), random.hash_one(1)] }
    }
}

impl BuildHasher for ByTrace {
    type Hasher = TraceHasher;

    #[inline]
    fn build_hasher(&self) -> TraceHasher {
        TraceHasher { key: self.key, hash: 0 }
    }
}

pub(super) struct TraceHasher {
    key: [u64; 2],
    hash: u64,
}

impl Hasher for TraceHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.hash
    }

    fn write(&mut self, bytes: &[u8]) {
        // No key is anything but an id.
        for &byte in bytes {
            self.write_u128(u128::from(self.hash) << 8 | u128::from(byte));
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "takes the halves")]
    fn write_u128(&mut self, id: u128) {
        let [low, high] = [id as u64, (id >> u64::BITS) as u64];
        let product = u128::from(low ^ self.key[0]) * u128::from(high ^ self.key[1]);
        self.hash = product as u64 ^ (product >> u64::BITS) as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Ids that differ in a few bits, as those of some generators do. Of 1,024 hashes, 2^16 places
    /// for them have 8 in common by chance. One key of some thousands has more than 64, so the keys
    /// here are given.
    #[test]
    fn ids_that_are_alike_have_hashes_that_are_not() {
        for seed in 1..=16_u64 {
            let key = [
                seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                !seed.wrapping_mul(0xd1b5_4a32_d192_ed03),
            ];
            for shift in [0, 32, 64, 118] {
                let ids = (0..1024_u128).map(|id| id << shift);
                let hashes: Vec<_> = ids.map(|id| ByTrace { key }.hash_one(id)).collect();
                for bits in [0, 48] {
                    let places = hashes.iter().map(|hash| hash >> bits & 0xffff);
                    let places = places.collect::<HashSet<_>>().len();
                    assert!(places > 1024 - 64, "{key:x?} {shift} {bits}: {places}");
                }
            }
        }
    }

    #[test]
    fn keys_differ() {
        let hash = || ByTrace::default().hash_one(1_u128);
        assert_ne!(hash(), hash());
    }
}
