//! Which clock a remembered instant belongs to.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::hash::{SECRETS, fold};

/// Tells the clocks of this process apart, so that none is asked about another's instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockId(u64);

impl ClockId {
    /// The system's clock.
    pub(crate) const SYSTEM: Self = Self(0);

    /// A clock that no other part of the process is known to share.
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        // ORDERING: Relaxed, since all that counts is that each gets another number.
        let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        // Spread over all bits, so that no id of a trace undoes the difference.
        Self(number.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    /// A hash of the clock and of a span, by the ids of its trace and its own; odd. Two are the same by
    /// chance once in 2^63 pairs.
    #[cfg_attr(not(feature = "trace"), allow(dead_code, reason = "only spans are remembered"))]
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a wider number")]
    #[inline]
    pub(crate) fn key(self, trace: [u8; 16], span: [u8; 8]) -> u64 {
        // The ids of some generators begin with a time, or are counted.
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
