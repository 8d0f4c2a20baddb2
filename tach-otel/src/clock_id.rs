//! The clock that an instant in the table belongs to.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::hash::{SECRETS, fold};

/// The number of a clock in this process. Instants of one clock mean nothing to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockId(u64);

impl ClockId {
    /// The system clock.
    pub(crate) const SYSTEM: Self = Self(0);

    /// Returns a new number, for a clock that may be any but the system's.
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        // ORDERING: Relaxed, because the numbers need only differ.
        let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        // Spread over all bits, so that the ids of two traces don't cancel the difference.
        Self(number.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    /// Returns a hash of the clock, a trace's id and a span's id. It is odd. Two hashes are equal
    /// by chance with a probability of 2^-63.
    #[cfg_attr(not(feature = "trace"), allow(dead_code, reason = "only spans have keys"))]
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a wider number")]
    #[inline]
    pub(crate) fn key(self, trace: [u8; 16], span: [u8; 8]) -> u64 {
        // Some generators make ids that begin with a time, or count them.
        let trace = u128::from_ne_bytes(trace);
        let (high, low) = ((trace >> 64) as u64, trace as u64);
        let trace = fold(high ^ SECRETS[0] ^ self.0, low ^ SECRETS[1]);
        fold(trace ^ u64::from_ne_bytes(span), SECRETS[2]) | 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_differ_by_every_part() {
        let mut keys = HashSet::new();
        for id in [ClockId::SYSTEM, ClockId::new(), ClockId::new()] {
            for number in 1..=300_u128 {
                for shift in [0, 17, 64, 96] {
                    for span in 1..=10_u64 {
                        keys.insert(id.key((number << shift).to_be_bytes(), span.to_be_bytes()));
                    }
                }
            }
        }
        assert_eq!(keys.len(), 3 * 300 * 4 * 10);
        assert!(keys.iter().all(|key| key % 2 == 1));
    }
}
