//! A part of all traces, chosen by their ids.

use crate::faults::{Fault, unless};

/// The number of different values of the bits that decide.
const ALL: u64 = 1 << 63;

/// How many of the traces are sampled.
///
/// The upper 63 of the lower 64 bits of the trace's id decide, as in OpenTelemetry's SDKs for Rust
/// and Go, so that services with the same ratio choose the same traces. A higher ratio chooses all
/// traces of a lower one. (The specification asks for no algorithm: see its issue 1413.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ratio {
    /// The first number whose traces are not sampled.
    end: u64,
    /// The ratio as the program gave it, in bits: not a number differs from itself.
    given: u64,
}

impl Ratio {
    /// Returns the nearest ratio from 0 to 1. Not a number is 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "2^63 is exact, and a cast of floats saturates"
    )]
    pub(crate) fn new(ratio: f64) -> Self {
        Self { end: (ratio.clamp(0.0, 1.0) * ALL as f64) as u64, given: ratio.to_bits() }
    }

    /// Adds a fault unless the ratio is from 0 to 1. `call` returns the call that set it.
    pub(crate) fn check(self, faults: &mut Vec<Fault>, call: impl FnOnce(f64) -> String) {
        let ratio = f64::from_bits(self.given);
        unless((0.0..=1.0).contains(&ratio), faults, || call(ratio), "a ratio is from 0 to 1");
    }

    #[expect(clippy::cast_possible_truncation, reason = "takes the lower half")]
    #[inline]
    pub(crate) fn has(self, trace: u128) -> bool {
        (trace as u64) >> 1 < self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_bits_of_the_lower_half_decide() {
        for (ratio, id, expected) in [
            (0.0, 0, false),
            (f64::NAN, 0, false),
            (-1.0, 0, false),
            (0.5, u128::from(u64::MAX >> 1), true),
            (0.5, u128::from(1_u64 << 63), false),
            (0.5, u128::MAX << 64, true),
            (0.25, u128::from(u64::MAX >> 2), true),
            (0.25, u128::from(1_u64 << 62), false),
            (1.0, u128::MAX, true),
            (7.0, u128::MAX, true),
        ] {
            assert_eq!(Ratio::new(ratio).has(id), expected, "{ratio} {id:x}");
        }
    }
}
