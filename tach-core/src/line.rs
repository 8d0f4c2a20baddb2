//! Rates and lines: the arithmetic that converts ticks to nanoseconds.
//!
//! The fast path needs only a [`FastRate`]. The rest is not inlined into its callers, which keeps
//! programs small.

/// Nanoseconds per tick, as a fixed-point number with 48 fractional bits: exact to 3.6e-15 ns per
/// tick, and up to 65,536 ns per tick (a counter of 15 kHz).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rate {
    q48: u64,
}

const FRACTION_BITS: u32 = 48;
const FRACTION: u64 = (1 << FRACTION_BITS) - 1;

impl Rate {
    /// One tick is one nanosecond.
    pub(crate) const ONE: Self = Self { q48: 1 << FRACTION_BITS };
    /// Not known yet.
    pub(crate) const UNKNOWN: Self = Self { q48: 0 };
    /// A thousandth of a nanosecond per tick, which no counter reaches. It stands in for the rate
    /// of a clock that stands still: a record's end can't be computed from a rate of zero.
    pub(crate) const SLOWEST: Self = Self { q48: 1 << 38 };

    pub(crate) const fn from_q48(q48: u64) -> Self {
        Self { q48 }
    }

    pub(crate) const fn q48(self) -> u64 {
        self.q48
    }

    pub(crate) const fn is_known(self) -> bool {
        self.q48 != 0
    }

    /// Returns the rate that covers `ns` in `ticks`, kept within the range of rates.
    #[inline(never)]
    pub(crate) fn from_slope(ns: u64, ticks: u64) -> Self {
        if ticks == 0 {
            return Self { q48: u64::MAX };
        }
        let q48 = (u128::from(ns) << FRACTION_BITS) / u128::from(ticks);
        Self { q48: u64::try_from(q48).unwrap_or(u64::MAX) }
    }

    /// Returns the duration of `ticks` in ns, rounded down; saturates.
    #[inline]
    pub(crate) fn ns(self, ticks: u64) -> u64 {
        self.checked_ns(ticks).unwrap_or(u64::MAX)
    }

    /// Returns the duration of `ticks` in ns, rounded down; `None` past `u64::MAX`.
    #[inline]
    pub(crate) fn checked_ns(self, ticks: u64) -> Option<u64> {
        u64::try_from(self.product(ticks) >> FRACTION_BITS).ok()
    }

    /// Returns this rate with the precision of a [`FastRate`].
    pub(crate) const fn coarsened(self) -> Self {
        Self { q48: self.q48 & !0xffff }
    }

    /// Returns the least number of ticks that lasts `ns`; `None` past `u64::MAX`.
    #[inline(never)]
    pub(crate) fn ticks(self, ns: u64) -> Option<u64> {
        let ticks = (u128::from(ns) << FRACTION_BITS).div_ceil(u128::from(self.q48.max(1)));
        u64::try_from(ticks).ok()
    }

    /// Returns the number of ticks that lasts `ns` plus a fraction of a ns with 48 bits, rounded
    /// up, or rounded down if only the lower number ends in the same ns. `ns` must be less than
    /// 2^46. Returns `None` if neither ends in that ns, if `ns` is zero, for rates far from a ns,
    /// and seldom otherwise.
    ///
    /// Multiplies by the inverse rate: the CPU can compute the inverse while it waits for the
    /// counter. The quotient has fewer than 2^50 ticks and `f64` an error of 2^-53, so the estimate
    /// is seldom off by one. The remainder shows if it is.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "an estimate, which the remainder checks")]
    #[expect(clippy::cast_possible_truncation, reason = "less than 2^63")]
    #[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "wraps to a difference")]
    pub(crate) fn ticks_near(self, ns: u64, fraction: u64) -> Option<u64> {
        const ONE: i64 = 1 << FRACTION_BITS;
        const MORE_BITS: u32 = 10;
        if ns == 0 || !(1 << 44..1 << 60).contains(&self.q48) {
            return None;
        }
        let rate = self.q48 as i64;
        let inverse = (1_u128 << (64 + FRACTION_BITS - MORE_BITS)) as f64 / rate as f64;
        let ns_and_more = (ns << MORE_BITS) | (fraction >> (FRACTION_BITS - MORE_BITS));
        // Decrement the inverse: an exact quotient would otherwise be rounded up by the `+ 1`
        // below.
        let estimate = u128::from(ns_and_more) * u128::from(inverse as i64 as u64 - 1);
        let ticks = (estimate >> 64) as i64 + 1;
        // The time by which the ticks last longer than `wanted`.
        let wanted = (ns << FRACTION_BITS) | fraction;
        let excess = ticks.wrapping_mul(rate).wrapping_sub(wanted as i64);
        if !(0..rate).contains(&excess) {
            return None;
        }
        // Don't branch here: no CPU could predict the branch.
        let down = i64::from(fraction as i64 + excess >= ONE);
        let after_ns = fraction as i64 + excess - down * rate;
        (0..ONE).contains(&after_ns).then_some((ticks - down) as u64)
    }

    /// Returns ticks per ns.
    pub(crate) fn inverse(self) -> Self {
        let q48 = (1 << (2 * FRACTION_BITS)) / u128::from(self.q48.max(1));
        Self { q48: u64::try_from(q48).unwrap_or(u64::MAX) }
    }

    /// Returns ticks per second.
    pub(crate) fn hz(self) -> u64 {
        self.ticks(1_000_000_000).unwrap_or(u64::MAX)
    }

    /// Returns this rate changed by an error in every `duration_ns`, at least
    /// [`SLOWEST`](Self::SLOWEST). The error is in ns with 16 fractional bits.
    #[inline(never)]
    pub(crate) fn changed_by(self, error_q16: i128, duration_ns: u64) -> Self {
        // Limit the error to 2^62 (19 hours), or the product below would overflow.
        let error_q16 = error_q16.clamp(-1 << 62, 1 << 62);
        let duration_q16 = i128::from(duration_ns.max(1)) << 16;
        let change = i128::from(self.q48) * error_q16 / duration_q16;
        let q48 = (i128::from(self.q48) + change)
            .clamp(i128::from(Self::SLOWEST.q48), i128::from(u64::MAX));
        Self { q48: u64::try_from(q48).unwrap_or(u64::MAX) }
    }

    /// Returns the difference from `other`, in parts per billion of `other`.
    pub(crate) fn distance_ppb(self, other: Self) -> u64 {
        let ppb =
            u128::from(self.q48.abs_diff(other.q48)) * 1_000_000_000 / u128::from(other.q48.max(1));
        u64::try_from(ppb).unwrap_or(u64::MAX)
    }

    fn product(self, ticks: u64) -> u128 {
        u128::from(ticks) * u128::from(self.q48)
    }
}

/// A [`coarsened`](Rate::coarsened) rate with 32 fractional bits, for durations of up to four
/// seconds: 64 bits hold the product then, and it takes one multiplication.
///
/// For a counter of 2.7 GHz the last bit makes 0.6 ns in a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FastRate {
    q32: u64,
}

/// The duration for which a [`FastRate`] is exact enough, in ns.
pub(crate) const FAST_NS: u64 = 1 << 32;

impl FastRate {
    pub(crate) const fn from_q32(q32: u64) -> Self {
        Self { q32 }
    }

    pub(crate) const fn of(rate: Rate) -> Self {
        Self { q32: rate.q48 >> 16 }
    }

    pub(crate) const fn q32(self) -> u64 {
        self.q32
    }

    /// Returns the duration of `ticks` in ns, which must be less than [`FAST_NS`]. The result
    /// equals [`Rate::ns`].
    #[inline]
    pub(crate) fn ns(self, ticks: u64) -> u64 {
        ticks.wrapping_mul(self.q32) >> 32
    }

    /// Returns the least number of ticks that lasts `ns`, which must be less than four seconds:
    /// then the sum fits in 64 bits. The result equals [`Rate::ticks`]; `None` if the rate is zero.
    #[inline]
    pub(crate) fn ticks(self, ns: u64) -> Option<u64> {
        (ns << 32).wrapping_add(self.q32.wrapping_sub(1)).checked_div(self.q32)
    }
}

impl From<FastRate> for Rate {
    fn from(rate: FastRate) -> Self {
        Self { q48: rate.q32 << 16 }
    }
}

/// Half the range of a `u64`.
const HALF: u64 = 1 << 63;

/// Returns `tick`, a signed number in two's complement, as a number that is not negative: 0 becomes
/// 2^63. So ticks before zero have an order and an arithmetic without signs.
#[inline]
pub(crate) const fn shifted_tick(tick: u64) -> u64 {
    tick ^ HALF
}

/// Returns the tick that [`shifted_tick`] converts to `shifted`.
#[inline]
pub(crate) const fn unshifted_tick(shifted: u64) -> u64 {
    shifted ^ HALF
}

/// Returns `ns`, a time that is not before zero, as [`Line::shifted`] counts it.
pub(crate) const fn shifted_ns(ns: u64) -> u64 {
    ns.saturating_add(HALF)
}

/// Returns the time that [`shifted_ns`] converts to `shifted`; `None` before zero.
pub(crate) const fn unshifted_ns(shifted: u64) -> Option<u64> {
    shifted.checked_sub(HALF)
}

/// A straight line from ticks to ns, in both directions from the point it starts at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) start_tick: u64,
    pub(crate) start_ns: u64,
    pub(crate) rate: Rate,
}

impl Line {
    /// One tick is one nanosecond, and both begin at zero.
    pub(crate) const IDENTITY: Self = Self { start_tick: 0, start_ns: 0, rate: Rate::ONE };

    /// Returns this line for shifted ticks and times, which may be before zero.
    pub(crate) const fn shifted(self) -> Self {
        let Self { start_tick, start_ns, rate } = self;
        Self { start_tick: shifted_tick(start_tick), start_ns: shifted_ns(start_ns), rate }
    }

    /// Returns the time at `tick`, rounded down; saturates at both ends of `u64`. Outlined, since
    /// records need it in many places. Old instants are converted by
    /// [`exact_ns_at`](Self::exact_ns_at).
    #[inline(never)]
    pub(crate) fn ns_at(&self, tick: u64) -> u64 {
        self.exact_ns_at(tick).0
    }

    /// Returns the time at `tick`: its ns, and the fraction with [`FRACTION_BITS`]. Saturates at
    /// both ends of `u64`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the fraction is in the low bits")]
    pub(crate) fn exact_ns_at(&self, tick: u64) -> (u64, u64) {
        let start = u128::from(self.start_ns) << FRACTION_BITS;
        let exact = if tick >= self.start_tick {
            start.saturating_add(self.rate.product(tick - self.start_tick))
        } else {
            start.saturating_sub(self.rate.product(self.start_tick - tick))
        };
        let ns = u64::try_from(exact >> FRACTION_BITS).unwrap_or(u64::MAX);
        (ns, exact as u64 & FRACTION)
    }

    /// Returns the first tick at which the time is `ns` or later; `None` outside `u64`.
    pub(crate) fn tick_at(&self, ns: u64) -> Option<u64> {
        self.tick_near((ns, 0), Direction::After)
    }

    /// Returns the tick at the time `ns` plus a fraction, the result of a sum. After an addition,
    /// that is the first tick at this time or later; after a subtraction, the last tick at this
    /// time or earlier. If only the neighbour on the other side of the time is in the same ns,
    /// returns the neighbour. `None` outside `u64`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a remainder is less than the rate")]
    pub(crate) fn tick_near(
        &self,
        (ns, fraction): (u64, u64),
        direction: Direction,
    ) -> Option<u64> {
        let rate = self.rate.q48.max(1);
        let (exact, start) = (
            u128::from(ns) << FRACTION_BITS | u128::from(fraction),
            u128::from(self.start_ns) << FRACTION_BITS,
        );
        let distance = exact.abs_diff(start);
        let ticks = u64::try_from(distance / u128::from(rate)).ok()?;
        let rest = (distance as u64).wrapping_sub(ticks.wrapping_mul(rate));
        // The last tick that is not later than `exact`, and how long before `exact` it is.
        let (last, since) = if exact >= start {
            (self.start_tick.checked_add(ticks)?, rest)
        } else if rest == 0 {
            (self.start_tick.checked_sub(ticks)?, 0)
        } else {
            (self.start_tick.checked_sub(ticks)?.checked_sub(1)?, rate - rest)
        };
        let is_last_exact = since <= fraction;
        let is_next_exact = rate - since <= FRACTION - fraction;
        let takes_next = match direction {
            Direction::After => is_next_exact || !is_last_exact,
            Direction::Before => is_next_exact && !is_last_exact,
        };
        last.checked_add(u64::from(takes_next && since != 0))
    }
}

/// Returns the time in ns from `earlier`, a tick on `first`, to `later`, a later tick on `last`.
/// Ticks and times may be before zero.
#[inline]
pub(crate) fn ns_between(first: Line, earlier: u64, last: Line, later: u64) -> u64 {
    if first == last {
        // Use the fast path's arithmetic, so that both paths return the same duration.
        return last.rate.ns(later.wrapping_sub(earlier));
    }
    let ns_at = |line: Line, tick| line.shifted().exact_ns_at(shifted_tick(tick)).0;
    ns_at(last, later).saturating_sub(ns_at(first, earlier))
}

/// The direction of a sum: a duration is added or subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    After,
    Before,
}

impl Direction {
    /// Moves a tick by ticks, or a time by ns.
    #[inline]
    pub(crate) fn moved(self, from: u64, by: u64) -> Option<u64> {
        match self {
            Self::After => from.checked_add(by),
            Self::Before => from.checked_sub(by),
        }
    }
}

#[cfg(all(test, not(tach_same_arithmetic)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2.7 GHz.
    const RATE: Rate = Rate::from_q48((1_u64 << 48) * 10 / 27);

    #[test]
    fn ends_of_the_range_saturate() {
        let line = Line { start_tick: 1000, start_ns: 5, rate: Rate::ONE };
        assert_eq!(line.ns_at(0), 0);
        assert_eq!(line.ns_at(999), 4);
        assert_eq!(line.ns_at(u64::MAX), u64::MAX - 995);
        let steep = Line { rate: Rate::from_q48(u64::MAX), ..line };
        assert_eq!(steep.ns_at(u64::MAX), u64::MAX);
        assert_eq!(line.tick_at(u64::MAX), None);
        assert_eq!(line.tick_at(0), Some(995));
        assert_eq!(Line { start_tick: 3, ..line }.tick_at(0), None);
    }

    #[test]
    fn ticks_and_times_before_zero_keep_their_distance() {
        let first = Line { start_tick: 1_000, start_ns: 5, rate: Rate::ONE };
        let last = Line { start_tick: 2_000, start_ns: 1_006, rate: Rate::ONE };
        // The tick 0 is at -995 ns, and the last line is one ns late.
        for (earlier, ns) in
            [(1_000, 1_001), (995, 1_006), (0, 2_001), (0_u64.wrapping_sub(7), 2_008)]
        {
            assert_eq!(ns_between(first, earlier, last, 2_000), ns, "{earlier}");
        }
        assert_eq!(ns_between(first, 0_u64.wrapping_sub(7), first, 1_000), 1_007);
    }

    #[test]
    fn slopes_that_no_rate_can_have_are_bounded() {
        assert_eq!(Rate::from_slope(5, 0).q48(), u64::MAX);
        assert_eq!(Rate::from_slope(u64::MAX, 1).q48(), u64::MAX);
        assert!(!Rate::from_slope(0, 5).is_known());
    }

    #[test]
    fn a_slope_is_ns_per_tick() {
        assert_eq!(Rate::from_slope(10_000_000_000, 27_000_000_000), RATE);
        assert_eq!(Rate::from_slope(77, 77), Rate::ONE);
    }

    #[test]
    fn a_rate_in_other_units() {
        let half = Rate::from_q48(1 << 47);
        assert_eq!([half, Rate::ONE].map(Rate::hz), [2_000_000_000, 1_000_000_000]);
        assert_eq!([half, Rate::ONE].map(Rate::inverse), [Rate::from_q48(1 << 49), Rate::ONE]);
        let distances = [(half, half), (half, Rate::ONE), (Rate::ONE, half)];
        let ppb = distances.map(|(rate, other)| rate.distance_ppb(other));
        assert_eq!(ppb, [0, 500_000_000, 1_000_000_000]);
    }

    #[test]
    fn a_fast_rate_serves_four_seconds() {
        assert_eq!(FAST_NS / 1_000_000_000, 4);
        assert_eq!(FastRate::from_q32(77).q32(), 77);
    }

    #[test]
    fn the_slowest_rate_is_a_thousandth_of_a_nanosecond_and_known() {
        assert!(Rate::SLOWEST.is_known());
        assert_eq!([1_000, 1_024, 2_048].map(|ticks| Rate::SLOWEST.ns(ticks)), [0, 1, 2]);
    }

    #[test]
    fn the_ticks_near_a_duration_are_seldom_unknown() {
        for rate in [RATE, Rate::ONE, Rate::from_slope(1, 5), Rate::from_slope(999, 1_000)] {
            let ns = |n: u64| (n + 1) * 30_000_000_007;
            let known = (0..1_000).filter_map(|n| rate.ticks_near(ns(n), n << 38));
            assert!(known.count() > 980, "{rate:?}");
        }
    }

    proptest! {
        #[test]
        fn ns_is_the_exact_product_rounded_down(ticks: u64, q48: u64) {
            let rate = Rate::from_q48(q48);
            let exact = (u128::from(ticks) * u128::from(q48)) >> 48;
            prop_assert_eq!(u128::from(rate.ns(ticks)), exact.min(u128::from(u64::MAX)));
        }

        #[test]
        fn a_coarsened_rate_loses_16_bits(q48: u64) {
            prop_assert_eq!(Rate::from_q48(q48).coarsened().q48(), q48 >> 16 << 16);
        }

        #[test]
        fn a_fast_rate_is_the_coarsened_one(ticks: u64, q48: u64) {
            let rate = Rate::from_q48(q48).coarsened();
            let ticks = ticks % rate.ticks(FAST_NS).unwrap_or(u64::MAX).max(1);
            prop_assert_eq!(FastRate::of(rate).ns(ticks), rate.ns(ticks));
            prop_assert_eq!(Rate::from(FastRate::of(rate)), rate);
        }

        #[test]
        fn a_fast_rate_makes_the_same_ticks(ns in 0..4_000_000_000_u64, q48 in 1_u64 << 38..) {
            let rate = Rate::from_q48(q48).coarsened();
            prop_assert_eq!(FastRate::of(rate).ticks(ns), rate.ticks(ns));
        }

        #[test]
        fn the_ticks_near_a_duration_are_those_of_a_division(
            ns in prop_oneof![0..1_u64 << 46, (0..1_000_u64).prop_map(|ns| (1 << 46) - ns)],
            fraction in prop_oneof![0..1_u64 << 48, Just(0)],
            q48 in (44..60_u32, 0..1_u64 << 44, any::<bool>())
                .prop_map(|(bits, rest, round)| (1 << bits) + if round { 0 } else { rest }),
        ) {
            let (rate, wanted) = (u128::from(q48), u128::from(ns) << 48 | u128::from(fraction));
            let lasts_ns = |ticks: &u128| (ticks * rate) >> 48 == u128::from(ns);
            let ticks = [wanted.div_ceil(rate), wanted / rate].into_iter().find(lasts_ns);
            let ticks = ticks.filter(|_| ns != 0).map(|ticks| u64::try_from(ticks).unwrap());
            if let Some(near) = Rate::from_q48(q48).ticks_near(ns, fraction) {
                prop_assert_eq!(Some(near), ticks);
            }
        }

        #[test]
        fn a_line_never_falls(a: u64, b: u64, start_tick: u64, start_ns: u64, q48: u64) {
            let line = Line { start_tick, start_ns, rate: Rate::from_q48(q48) };
            prop_assert!(line.ns_at(a.min(b)) <= line.ns_at(a.max(b)));
        }

        #[test]
        fn ticks_of_a_duration_last_exactly_that_where_a_tick_is_at_most_1_ns(
            ns in 0..1_u64 << 60,
            q48 in 1 << 44..=1_u64 << 48,
        ) {
            let rate = Rate::from_q48(q48);
            if let Some(ticks) = rate.ticks(ns) {
                prop_assert_eq!(rate.ns(ticks), ns);
            }
        }

        #[test]
        fn the_inverse_is_the_first_tick_of_its_time(ns in 0..1_u64 << 62, start_ns in 0..1_u64 << 62) {
            let line = Line { start_tick: 1 << 63, start_ns, rate: RATE };
            if let Some(tick) = line.tick_at(ns) {
                prop_assert!(line.ns_at(tick) >= ns && line.ns_at(tick - 1) < ns);
            }
        }

        /// Compares `tick_near` with a search among the neighbouring ticks.
        #[test]
        fn a_sum_leads_to_the_nearest_tick_in_the_same_ns(
            tick in (1 << 62) - (1 << 50)..(1 << 62) + (1_u64 << 50),
            start_ns in 1 << 62..1_u64 << 63,
            q48 in 1_u64 << 44..1 << 52,
            off in -(1_i64 << 53)..1 << 53,
        ) {
            let line = Line { start_tick: 1 << 62, start_ns, rate: Rate::from_q48(q48) };
            let exact = |tick| {
                let (ns, fraction) = line.exact_ns_at(tick);
                u128::from(ns) << 48 | u128::from(fraction)
            };
            let wanted = exact(tick).saturating_add_signed(off.into());
            let ns = u64::try_from(wanted >> 48).unwrap();
            let fraction = u64::try_from(wanted & u128::from(FRACTION)).unwrap();
            let around = || tick - 1_025..tick + 1_026;
            let first = around().find(|&tick| exact(tick) >= wanted).unwrap();
            let last = around().rfind(|&tick| exact(tick) <= wanted).unwrap();
            for (direction, near, far) in
                [(Direction::After, first, last), (Direction::Before, last, first)]
            {
                let takes_far = line.ns_at(near) != ns && line.ns_at(far) == ns;
                let expected = if takes_far { far } else { near };
                prop_assert_eq!(line.tick_near((ns, fraction), direction), Some(expected));
            }
        }

        #[test]
        fn a_changed_rate_ends_where_the_error_was(error_ns in -400_000_i64..400_000) {
            let second = RATE.ticks(1_000_000_000).unwrap();
            let moved = RATE.changed_by(i128::from(error_ns) << 16, 1_000_000_000).ns(second);
            let wanted = 1_000_000_000_i64 + error_ns;
            prop_assert!(moved.abs_diff(u64::try_from(wanted).unwrap()) <= 1);
        }
    }
}
