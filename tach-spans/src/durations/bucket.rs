//! Computes the bucket of a duration.
//!
//! At the scale s, the bucket i holds the durations above 2^(i / 2^s) seconds, up to and including
//! 2^((i + 1) / 2^s) seconds. The bounds that are powers of two are exact. All other bounds are
//! irrational, and a duration beside one may be counted in the neighboring bucket, as
//! OpenTelemetry's data model permits.

use core::num::NonZero;

/// The scale of a histogram whose durations are close together: a bucket is 0.5 % wide.
pub(super) const MAX_SCALE: u32 = 7;

/// The buckets of an octave at that scale.
const BUCKETS: usize = 1 << MAX_SCALE;
const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
const EXPONENT_BIAS: i32 = f64::MAX_EXP - 1;

/// The mantissas of the lower bounds of an octave's buckets. The last entry is no bound: it is
/// greater than any mantissa.
static BOUNDS: [u64; BUCKETS + 1] = bounds();

/// The parts into which the mantissas are cut. Each contains one bound at most: bounds are 0.5 %
/// apart, or more.
const CELLS: usize = 1 << CELL_BITS;
const CELL_BITS: u32 = MAX_SCALE + 1;
const CELL_SHIFT: u32 = MANTISSA_BITS - CELL_BITS;

/// How many bounds are below each cell.
static BELOW: [u8; CELLS] = below();

/// Returns the index of a duration's bucket at [`MAX_SCALE`]. At each lower scale a bucket consists
/// of two neighbors of the scale above, so the index is half as large.
///
/// Looks the index up, because a logarithm would take most of the time that recording a duration
/// takes.
#[expect(clippy::cast_precision_loss, reason = "beyond 104 days a double rounds a duration")]
#[inline]
pub(super) fn index(ns: NonZero<u64>) -> i32 {
    let bits = (ns.get() as f64 / 1e9).to_bits();
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1);
    let octave = (bits >> MANTISSA_BITS) as i32 - EXPONENT_BIAS;
    let below = BELOW[(mantissa >> CELL_SHIFT) as usize];
    // The upper bound belongs to the bucket.
    let is_above = mantissa > BOUNDS[usize::from(below)];
    (octave << MAX_SCALE) + i32::from(below) + i32::from(is_above) - 1
}

/// Computes the bounds by the roots of 2, in fixed point.
const fn bounds() -> [u64; BUCKETS + 1] {
    const ONE: u128 = 1 << 60;
    let mut bounds = [u64::MAX; BUCKETS + 1];
    let mut at = 0;
    while at < BUCKETS {
        let (mut bound, mut root, mut bit) = (ONE, 2 * ONE, MAX_SCALE);
        while bit > 0 {
            bit -= 1;
            root = (root * ONE).isqrt();
            if at >> bit & 1 == 1 {
                bound = bound * root / ONE;
            }
        }
        bounds[at] = mantissa_of(bound - ONE);
        at += 1;
    }
    bounds
}

/// Returns the mantissa of a number from 1 to 2 in fixed point, without the one.
#[expect(clippy::cast_possible_truncation, reason = "the fraction has 60 bits")]
const fn mantissa_of(fraction: u128) -> u64 {
    (fraction >> (60 - MANTISSA_BITS)) as u64
}

#[expect(clippy::cast_possible_truncation, reason = "at most 128 are below")]
const fn below() -> [u8; CELLS] {
    let bounds = bounds();
    let mut all = [0; CELLS];
    let mut cell = 0;
    while cell < CELLS {
        let mut below = 0;
        while bounds[below] < (cell as u64) << CELL_SHIFT {
            below += 1;
        }
        all[cell] = below as u8;
        cell += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ns: u64) -> i32 {
        index(NonZero::new(ns).unwrap())
    }

    /// The indices were computed with 80 decimal digits.
    #[test]
    fn durations_are_in_their_buckets() {
        let known = [
            (1, -3827),
            (2, -3699),
            (3, -3624),
            (7, -3468),
            (10, -3402),
            (100, -2977),
            (999, -2552),
            (65_537, -1779),
            (1_000_000, -1276),
            (1_005_430, -1275),
            (3_600_000_000_000, 1512),
            (86_400_000_000_000, 2099),
            (1 << 53, 2957),
            (u64::MAX >> 1, 4237),
            (u64::MAX, 4365),
        ];
        for (ns, index) in known {
            assert_eq!(at(ns), index, "{ns}");
        }
    }

    #[test]
    fn powers_of_two_seconds_are_the_highest_of_their_buckets() {
        // 2^-9 s is the shortest power of two that is a whole number of nanoseconds.
        for exponent in 0..=43_u32 {
            let bound = 1_953_125_u64 << exponent;
            let index = (i32::try_from(exponent).unwrap() - 9) << MAX_SCALE;
            assert_eq!(at(bound), index - 1, "{bound}");
            // Up to 36 hours, a duration a nanosecond off the bound has a different logarithm in
            // floating point.
            if exponent <= 26 {
                assert_eq!((at(bound - 1), at(bound + 1)), (index - 1, index), "{bound}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_duration_is_within_the_bounds_of_its_bucket(ns in 1..=u64::MAX, shift in 0..63_u32) {
            let ns = (ns >> shift).max(1);
            let bound = |index: i32| (f64::from(index) / 128.0).exp2() * 1e9;
            #[expect(clippy::cast_precision_loss, reason = "compared with bounds that are rounded")]
            let exact = ns as f64;
            let index = at(ns);
            prop_assert!(exact > bound(index) * (1.0 - 1e-12), "{ns} {index}");
            prop_assert!(exact <= bound(index + 1) * (1.0 + 1e-12), "{ns} {index}");
        }
    }
}
