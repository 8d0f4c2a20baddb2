//! The discipline: what is known of the OS clock, and how a sample changes it.
//!
//! An [`Estimate`] is a point of the OS clock, its rate, and how far either may be off. A sample
//! corrects both by as much as it is more certain than they are (a Kalman filter with the two
//! errors kept apart): one that was interrupted in its bracket moves little, one that contradicts
//! a confident estimate by more than its error can explain makes the rate uncertain again.

use crate::line::{Line, Rate};
use crate::sample::Sample;

/// What is known of the OS clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) tick: u64,
    /// The OS clock at `tick`.
    pub(crate) ns: u64,
    /// [`Rate::UNKNOWN`] after the first sample.
    pub(crate) rate: Rate,
    /// Standard error of `ns`; of `tick`, while no rate is known.
    pub(crate) offset_error_ns: u32,
    /// Standard error of `rate`.
    pub(crate) rate_error_ppb: u32,
}

/// How a sample met the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    /// As expected.
    Expected,
    /// Off by more than expected, but by too little in too short a time for a change of rate: cores
    /// whose counters differ.
    Jitter,
    /// Off by less than a step. Either the error is more than a slew makes in this time, or the time is too
    /// short to tell. The next sample shows whether the clock was set or a slew has begun.
    Shifted,
    /// The OS clock's rate has changed.
    RateChanged,
    /// The OS clock was set, by more than any slew explains.
    Stepped,
}

const NS_PER_S: u64 = 1_000_000_000;
/// How fast a rate may wander, by temperature mostly: the error of a rate grows by this much.
const WANDER_PPB_PER_S: u64 = 3;
/// Where that growth ends.
const MAX_WANDER_PPB: u64 = 1000;
/// The fastest slew that is taken for one: twice what Linux allows in `adjtimex`.
const MAX_SLEW_PPM: u64 = 1000;
/// An error of no more than this is taken for the counters' of two cores, if it would need a change of
/// rate by more than one part in that many (20 ppm).
const MAX_JITTER_NS: u64 = 2_000;
const JITTER_DIVISOR: u64 = 50_000;
/// A change of rate is not told from a little step in less time than this. What is taken for one is
/// extrapolated over seconds.
const SHORTEST_SLEW_NS: u64 = 400_000_000;
/// A rate whose error is more than this was told by few samples.
const YOUNG_PPB: u32 = 50_000;
/// The error of a frequency that the machine declares: crystals are off by up to 50 ppm, and an OS clock
/// is slewed by a little more than that.
const DECLARED_PPB: u64 = 100_000;
/// The error of a rate after a step: a tenth.
const UNCERTAIN_PPB: u32 = 100_000_000;
/// The error of a rate after a step that would have told an unlikely one.
const UNLIKELY_PPB: u32 = UNCERTAIN_PPB + 1;
/// The smallest error that is taken for a step. A smaller one is slewed away.
const MIN_STEP_NS: u64 = 1_000_000;
/// An error that a look lets pass, as it is the counters' of two cores more often than the OS clock's.
const MAX_AGREED_NS: u64 = 200;

impl Estimate {
    /// Nothing to learn: a tick is a nanosecond.
    pub(crate) const IDENTITY: Self =
        Self { tick: 0, ns: 0, rate: Rate::ONE, offset_error_ns: 0, rate_error_ppb: 0 };

    /// After the first sample ever.
    pub(crate) fn first(sample: &Sample) -> Self {
        Self {
            tick: sample.tick,
            ns: sample.ns,
            rate: Rate::UNKNOWN,
            // Nothing to compare its width with: it may have been interrupted.
            offset_error_ns: narrow(sample.width_ticks / 4),
            rate_error_ppb: u32::MAX,
        }
    }

    /// Whether it could do with a rate that is known from elsewhere.
    pub(crate) fn wants_rate(&self) -> bool {
        !self.rate.is_known() || self.rate_error_ppb >= UNCERTAIN_PPB
    }

    /// This estimate with a rate that is known from elsewhere.
    pub(crate) fn seeded(&self, rate: Rate, rate_error_ppb: u32) -> Self {
        let offset_error_ns = if self.rate.is_known() {
            self.offset_error_ns
        } else {
            narrow(rate.ns(u64::from(self.offset_error_ns)))
        };
        Self { rate, offset_error_ns, rate_error_ppb, ..*self }
    }

    /// The OS clock's time at `tick`, as far as is known.
    #[inline(never)]
    pub(crate) fn ns_at(&self, tick: u64) -> u64 {
        Line { start_tick: self.tick, start_ns: self.ns, rate: self.rate }.ns_at(tick)
    }

    /// This estimate of a clock that is `ns` ahead, or behind where that wraps.
    pub(crate) fn moved_by(&self, ns: u64) -> Self {
        Self { ns: self.ns.wrapping_add(ns), ..*self }
    }

    /// The tick at which the OS clock has the time `ns`, as far as is known; `None` outside `u64`.
    pub(crate) fn tick_at(&self, ns: u64) -> Option<u64> {
        Line { start_tick: self.tick, start_ns: self.ns, rate: self.rate }.tick_at(ns)
    }

    /// Whether `sample` is about where this estimate expects it.
    pub(crate) fn agrees(&self, sample: &Sample) -> bool {
        let elapsed_ns = self.rate.ns(sample.tick.saturating_sub(self.tick));
        let error_ns = sample.ns.abs_diff(self.ns_at(sample.tick));
        let half_width_ns = self.rate.ns(sample.width_ticks) / 2;
        let tolerated_ns = MAX_AGREED_NS.saturating_add(half_width_ns);
        error_ns <= self.expected_error_ns(elapsed_ns, sample).max(tolerated_ns)
    }

    /// The estimate with one more sample, once there is a rate. The OS clock was last seen to agree with
    /// this estimate at `agreed_tick`.
    pub(crate) fn with(&self, sample: &Sample, agreed_tick: u64) -> (Self, Finding) {
        if sample.tick < self.tick {
            // Another core's counter, or one that went back for good: it shows nothing new.
            return (*self, Finding::Expected);
        }
        if self.agrees(sample) {
            self.updated(sample)
        } else {
            // The change began after the last look that agreed.
            self.moved_to(agreed_tick.min(sample.tick)).updated(sample)
        }
    }

    /// This estimate as it was found to hold at a later tick.
    fn moved_to(&self, tick: u64) -> Self {
        if tick <= self.tick {
            return *self;
        }
        let elapsed_ns = self.rate.ns(tick - self.tick);
        Self {
            tick,
            ns: self.ns_at(tick),
            rate: self.rate,
            offset_error_ns: narrow(self.error_after(elapsed_ns)),
            rate_error_ppb: narrow(self.rate_error_after(elapsed_ns)),
        }
    }

    fn updated(&self, sample: &Sample) -> (Self, Finding) {
        let elapsed_ns = self.rate.ns(sample.tick.saturating_sub(self.tick)).max(1);
        let error_ns = signed_difference(sample.ns, self.ns_at(sample.tick));
        let magnitude = error_ns.unsigned_abs();
        let finding = self.finding(magnitude, elapsed_ns, sample);
        if finding == Finding::Stepped {
            return (self.with_step(sample), finding);
        }
        let mut offset_prior = self.error_after(elapsed_ns);
        let mut rate_prior = self.rate_error_after(elapsed_ns);
        if matches!(finding, Finding::RateChanged | Finding::Shifted) {
            offset_prior = offset_prior.max(magnitude);
        }
        if finding == Finding::RateChanged {
            rate_prior = rate_prior.max(ppb(magnitude, elapsed_ns));
        }
        let mut noise = noise_ns(sample, self.rate);
        if self.rate_error_ppb > YOUNG_PPB {
            noise = noise.saturating_add(unproven_ns(sample, self.rate));
        }
        if finding == Finding::Jitter {
            noise = noise.max(magnitude);
        }
        let slope_noise = ppb(hypot(u64::from(self.offset_error_ns), noise), elapsed_ns);
        let correction_ns = rounded(gain_q16(error_ns, offset_prior, noise));
        let ns = self.ns_at(sample.tick).saturating_add_signed(correction_ns);
        let (rate_error_q16, rate_error_ppb) = match finding {
            // A step says nothing of the rate, the beginning of a slew says all. The next sample shows
            // which of the two it was, and may change the rate by that much.
            Finding::Shifted => {
                let doubt = ppb(magnitude, elapsed_ns).min(u64::from(UNCERTAIN_PPB - 1));
                (0, rate_prior.max(doubt))
            }
            _ => (
                gain_q16(error_ns, rate_prior, slope_noise),
                combined_error(rate_prior, slope_noise),
            ),
        };
        let mut offset_error_ns = combined_error(offset_prior, noise);
        if finding == Finding::Jitter {
            offset_error_ns = offset_error_ns.max(magnitude / 2);
        }
        let updated = Self {
            tick: sample.tick,
            ns,
            rate: self.rate.changed_by(rate_error_q16, elapsed_ns),
            offset_error_ns: narrow(offset_error_ns),
            rate_error_ppb: narrow(rate_error_ppb),
        };
        (updated, finding)
    }

    /// The standard error of [`ns_at`](Self::ns_at), `elapsed_ns` after the last sample.
    #[inline(never)]
    pub(crate) fn error_after(&self, elapsed_ns: u64) -> u64 {
        let by_rate = u128::from(self.rate_error_after(elapsed_ns)) * u128::from(elapsed_ns);
        hypot(u64::from(self.offset_error_ns), saturated(by_rate / u128::from(NS_PER_S)))
    }

    #[inline(never)]
    fn rate_error_after(&self, elapsed_ns: u64) -> u64 {
        let wander =
            saturated(u128::from(elapsed_ns) * u128::from(WANDER_PPB_PER_S) / u128::from(NS_PER_S));
        u64::from(self.rate_error_ppb).saturating_add(wander.min(MAX_WANDER_PPB)).max(1)
    }

    /// A step says nothing of the rate. But what looks like one may be a rate that is far off (a virtual
    /// machine that goes on elsewhere), so the next sample may change it by much. If that is a step as
    /// well, the two tell the rate, if it is anything like the one before; the third step in a row
    /// tells any.
    fn with_step(&self, sample: &Sample) -> Self {
        let slope = Rate::from_slope(
            sample.ns.saturating_sub(self.ns),
            sample.tick.saturating_sub(self.tick),
        )
        .max(Rate::SLOWEST);
        let likely = self.rate.q48() / 4..=self.rate.q48().saturating_mul(4);
        let (rate, rate_error_ppb) = match self.rate_error_ppb {
            UNLIKELY_PPB => (slope, UNCERTAIN_PPB),
            UNCERTAIN_PPB if likely.contains(&slope.q48()) => (slope, UNCERTAIN_PPB),
            UNCERTAIN_PPB => (self.rate, UNLIKELY_PPB),
            _ => (self.rate, UNCERTAIN_PPB),
        };
        Self {
            tick: sample.tick,
            ns: sample.ns,
            rate,
            offset_error_ns: narrow(noise_ns(sample, self.rate)),
            rate_error_ppb,
        }
    }

    /// Two samples give the first rate, or bear out the frequency that the machine declares: that is the
    /// likely one then, but no surer than what was measured. Firmware, hypervisors and emulators declare
    /// wrong ones.
    pub(crate) fn with_second(&self, sample: &Sample, declared_hz: Option<u64>) -> Self {
        let ticks = sample.tick.saturating_sub(self.tick);
        let elapsed_ns = sample.ns.saturating_sub(self.ns);
        // An OS clock that stood still tells no rate; the next sample will.
        let measured = if elapsed_ns == 0 {
            Rate::ONE
        } else {
            Rate::from_slope(elapsed_ns, ticks.max(1)).max(Rate::SLOWEST)
        };
        let noise = noise_ns(sample, measured).saturating_add(unproven_ns(sample, measured));
        let slope_noise = hypot(measured.ns(u64::from(self.offset_error_ns)), noise);
        let error_ppb = ppb(slope_noise, elapsed_ns).max(DECLARED_PPB);
        let declared = declared_hz.map(|hz| Rate::from_slope(NS_PER_S, hz));
        let rate =
            declared.filter(|rate| rate.distance_ppb(measured) <= error_ppb.saturating_mul(3));
        Self {
            tick: sample.tick,
            ns: sample.ns,
            rate: rate.unwrap_or(measured),
            offset_error_ns: narrow(noise),
            rate_error_ppb: narrow(error_ppb),
        }
    }

    /// How far a sample may be off, `elapsed_ns` after the last one, if nothing happened.
    fn expected_error_ns(&self, elapsed_ns: u64, sample: &Sample) -> u64 {
        let half_width = self.rate.ns(sample.width_ticks) / 2;
        let error = hypot(self.error_after(elapsed_ns), noise_ns(sample, self.rate));
        error.saturating_mul(4).saturating_add(half_width)
    }

    fn finding(&self, error_ns: u64, elapsed_ns: u64, sample: &Sample) -> Finding {
        let widest_slew = (elapsed_ns / 1_000_000).saturating_mul(MAX_SLEW_PPM);
        let half_width = self.rate.ns(sample.width_ticks) / 2;
        if error_ns <= self.expected_error_ns(elapsed_ns, sample) {
            Finding::Expected
        } else if error_ns <= MAX_JITTER_NS && error_ns > elapsed_ns / JITTER_DIVISOR {
            Finding::Jitter
        } else if error_ns <= widest_slew.saturating_add(half_width)
            && elapsed_ns >= SHORTEST_SLEW_NS
        {
            Finding::RateChanged
        } else if error_ns <= MIN_STEP_NS.saturating_add(half_width) {
            Finding::Shifted
        } else {
            Finding::Stepped
        }
    }
}

/// The standard error of a sample. The OS clock was read anywhere in the bracket, in practice at much
/// the same place in each, so a quarter of the half-width; an interruption was before or after, so half
/// of what it made the bracket wider; and clock and counter show the last of their steps, anywhere in
/// one.
#[inline(never)]
fn noise_ns(sample: &Sample, rate: Rate) -> u64 {
    let bracket_ns = rate.ns((sample.width_ticks - sample.excess_ticks) / 8);
    let interruption_ns = rate.ns(sample.excess_ticks / 2);
    bracket_ns
        .saturating_add(interruption_ns)
        .saturating_add(sample.resolution_ns / 2)
        .saturating_add(rate.ns(1))
        .saturating_add(1)
}

/// What is added to that while the narrowest bracket may itself have been interrupted, as there were few.
fn unproven_ns(sample: &Sample, rate: Rate) -> u64 {
    rate.ns(sample.width_ticks / 4)
}

/// The part of `error` that a measurement with error `noise` corrects in a value with error `prior`,
/// with 16 fractional bits: a rate is worth corrections of less than a ns.
#[inline(never)]
fn gain_q16(error: i64, prior: u64, noise: u64) -> i128 {
    // Kept below 2^47, so that a square and 32 fractional bits fit.
    let square = |error: u64| u128::from(error.min(1 << 47)).pow(2);
    let (prior, noise) = (square(prior), square(noise));
    let part_q16 = |of: u128| {
        let part_q32 = (of << 32) / (prior + noise).max(1);
        i128::from(error) * i128::try_from(part_q32).unwrap_or(1 << 32) / (1 << 16)
    };
    // By the smaller of the two, so that what is nearly all is not rounded.
    if prior > noise { (i128::from(error) << 16) - part_q16(noise) } else { part_q16(prior) }
}

/// To the nearest whole number, from 16 fractional bits.
fn rounded(value_q16: i128) -> i64 {
    i64::try_from((value_q16 + (1 << 15)) >> 16).unwrap_or(0)
}

/// The standard error of two values with these errors, weighed together.
#[inline(never)]
fn combined_error(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    saturated(product / u128::from(hypot(a, b).max(1))).max(1)
}

/// The standard error of the sum of two values with these errors: the square root of the sum of their
/// squares, or up to 6 % more.
fn hypot(a: u64, b: u64) -> u64 {
    let (greater, lesser) = (a.max(b), a.min(b));
    let part = u128::from(lesser).pow(2) / u128::from(greater.max(1)) / 2;
    greater.saturating_add(saturated(part))
}

#[inline(never)]
fn ppb(part_ns: u64, of_ns: u64) -> u64 {
    saturated(u128::from(part_ns) * u128::from(NS_PER_S) / u128::from(of_ns.max(1)))
}

fn signed_difference(a: u64, b: u64) -> i64 {
    let magnitude = i64::try_from(a.abs_diff(b)).unwrap_or(i64::MAX);
    if a >= b { magnitude } else { -magnitude }
}

fn saturated(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
