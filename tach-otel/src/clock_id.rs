//! Which clock a remembered instant belongs to.

use core::sync::atomic::{AtomicU64, Ordering};

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

    /// A hash of the clock and of what is remembered by it; not 0. Two are the same by chance once in
    /// 2^63 pairs.
    #[cfg_attr(not(feature = "trace"), allow(dead_code, reason = "only spans are remembered"))]
    #[expect(clippy::cast_possible_truncation, reason = "the halves of wider numbers")]
    #[inline]
    pub(crate) fn key(self, bytes: [u8; 16]) -> u64 {
        // The ids of some generators begin with a time, or are counted: each bit of the product
        // depends on many of theirs.
        const SECRETS: [u64; 2] = [0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB];
        let whole = u128::from_ne_bytes(bytes);
        let (high, low) = ((whole >> 64) as u64 ^ SECRETS[0] ^ self.0, whole as u64 ^ SECRETS[1]);
        let product = u128::from(high) * u128::from(low);
        ((product >> 64) as u64 ^ product as u64) | 1
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
            for number in 0..1000_u128 {
                for shift in [0, 17, 64, 96] {
                    keys.insert(id.key(((number + 1) << shift).to_be_bytes()));
                }
            }
        }
        assert_eq!(keys.len(), 3 * 4 * 1000);
        assert!(!keys.contains(&0));
    }
}
