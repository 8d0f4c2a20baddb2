//! The discipline: the estimate of the OS clock, and how a sample changes it.
//!
//! An [`Estimate`] is a point of the OS clock, its rate, and the errors of both. A sample corrects
//! both in proportion to its certainty (a Kalman filter that keeps the two errors apart). A sample
//! whose bracket was interrupted moves the estimate little. A sample that contradicts a confident
//! estimate by more than the estimate's error can explain makes the rate uncertain again.

use crate::line::{Line, Rate};
use crate::sample::Sample;

/// An estimate of the OS clock: one point and a rate, with their errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) tick: u64,
    /// The OS clock at `tick`.
    pub(crate) ns: u64,
    /// [`Rate::UNKNOWN`] after the first sample.
    pub(crate) rate: Rate,
    /// Standard error of `ns`. While no rate is known: standard error of `tick`.
    pub(crate) offset_error_ns: u32,
    /// Standard error of `rate`.
    pub(crate) rate_error_ppb: u32,
}

/// How a sample compares with the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    /// The sample is within the expected error.
    Expected,
    /// The error is larger than expected, but too small, in too short a time, for a change of rate:
    /// the counters of two cores differ.
    Jitter,
    /// The error is smaller than a step, but either larger than a slew makes in this time, or the
    /// time is too short to decide. The next sample shows whether the clock was set or a slew has
    /// begun.
    Shifted,
    /// The OS clock's rate has changed.
    RateChanged,
    /// The OS clock was set by more than any slew explains.
    Stepped,
}

pub(super) const NS_PER_S: u64 = 1_000_000_000;
/// How fast the error of a rate grows: rates wander, mostly with temperature.
const WANDER_PPB_PER_S: u64 = 3;
/// The most that wandering adds to the error of a rate.
const MAX_WANDER_PPB: u64 = 1000;
/// The fastest change that counts as a slew: twice the maximum of Linux's `adjtimex`.
const MAX_SLEW_PPM: u64 = 1000;
/// The largest error that is attributed to a difference between two cores' counters, unless a
/// change of rate by at most one part in [`JITTER_DIVISOR`] (20 ppm) explains it.
const MAX_JITTER_NS: u64 = 2_000;
const JITTER_DIVISOR: u64 = 50_000;
/// A shorter time can't distinguish a change of rate from a small step. A step mistaken for a
/// change of rate would be extrapolated over seconds.
const SHORTEST_SLEW_NS: u64 = 400_000_000;
/// A rate with a greater error rests on few samples.
const YOUNG_PPB: u32 = 50_000;
/// The error of a frequency that the machine declares. Crystals are off by up to 50 ppm, and an OS
/// clock is slewed by a little more.
const DECLARED_PPB: u64 = 100_000;
/// The error of a rate after a step: a tenth of the rate.
const UNCERTAIN_PPB: u32 = 100_000_000;
/// The error of a rate after a second step in a row, if the slope between the two was unlikely.
const UNLIKELY_PPB: u32 = UNCERTAIN_PPB + 1;
/// The smallest error that counts as a step. Smaller ones are slewed away.
const MIN_STEP_NS: u64 = 1_000_000;
/// The largest error that every look accepts: so small an error comes more often from a difference
/// between two cores' counters than from a change of the OS clock.
const MAX_AGREED_NS: u64 = 200;

impl Estimate {
    /// The estimate of a clock whose ticks are nanoseconds: no sample changes it.
    pub(crate) const IDENTITY: Self =
        Self { tick: 0, ns: 0, rate: Rate::ONE, offset_error_ns: 0, rate_error_ppb: 0 };

    /// Creates the estimate after the very first sample.
    pub(crate) fn first(sample: &Sample) -> Self {
        Self {
            tick: sample.tick,
            ns: sample.ns,
            rate: Rate::UNKNOWN,
            // There is no other width to compare with, so the bracket may have been interrupted.
            offset_error_ns: narrow(sample.width_ticks / 4),
            rate_error_ppb: u32::MAX,
        }
    }

    /// Returns whether a rate known from elsewhere would improve this estimate.
    pub(crate) fn wants_rate(&self) -> bool {
        !self.rate.is_known() || self.rate_error_ppb >= UNCERTAIN_PPB
    }

    /// Returns this estimate with a rate that is known from elsewhere.
    #[inline(never)]
    pub(crate) fn seeded(&self, rate: Rate, rate_error_ppb: u32) -> Self {
        let offset_error_ns = if self.rate.is_known() {
            self.offset_error_ns
        } else {
            narrow(rate.ns(u64::from(self.offset_error_ns)))
        };
        Self { rate, offset_error_ns, rate_error_ppb, ..*self }
    }

    /// Returns the OS clock's estimated time at `tick`.
    #[inline(never)]
    pub(crate) fn ns_at(&self, tick: u64) -> u64 {
        Line { start_tick: self.tick, start_ns: self.ns, rate: self.rate }.ns_at(tick)
    }

    /// Returns the tick at which the OS clock is estimated to have the time `ns`; `None` outside
    /// `u64`.
    pub(crate) fn tick_at(&self, ns: u64) -> Option<u64> {
        Line { start_tick: self.tick, start_ns: self.ns, rate: self.rate }.tick_at(ns)
    }

    /// Returns whether `sample` is about where this estimate expects it.
    pub(crate) fn agrees(&self, sample: &Sample) -> bool {
        sample.ns.abs_diff(self.ns_at(sample.tick)) <= self.tolerated_ns(sample)
    }

    /// Returns the distance from this estimate up to which `sample` agrees.
    fn tolerated_ns(&self, sample: &Sample) -> u64 {
        let elapsed_ns = self.rate.ns(sample.tick.saturating_sub(self.tick));
        let half_width_ns = self.rate.ns(sample.width_ticks) / 2;
        let tolerated_ns = MAX_AGREED_NS.saturating_add(half_width_ns);
        self.expected_error_ns(elapsed_ns, sample).max(tolerated_ns)
    }

    /// Returns the greatest error of this estimate at the tick of `sample`, if the OS clock last
    /// agreed at `agreed_tick` and was not set since. The OS clock can't be read, so `sample` was
    /// computed from this estimate.
    pub(super) fn unread_error_ns(&self, sample: &Sample, agreed_tick: u64) -> u64 {
        let unread_ns = self.rate.ns(sample.tick.saturating_sub(agreed_tick));
        self.tolerated_ns(sample).saturating_add(unread_ns / (1_000_000 / MAX_SLEW_PPM))
    }

    /// Returns the estimate with one more sample. A rate must be known. The OS clock was last seen
    /// to agree with this estimate at `agreed_tick`.
    pub(crate) fn with(&self, sample: &Sample, agreed_tick: u64) -> (Self, Finding) {
        if sample.tick < self.tick {
            // The sample comes from another core's counter, or from a counter that went back for
            // good. It shows nothing new.
            return (*self, Finding::Expected);
        }
        if self.agrees(sample) {
            self.updated(sample)
        } else {
            // The change began after the last look that agreed.
            self.moved_to(agreed_tick.min(sample.tick)).updated(sample)
        }
    }

    /// Returns this estimate moved to a later tick at which it was found to hold.
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
            // This is a step, which says nothing about the rate, or the beginning of a slew, which
            // changes the rate. The next sample decides, and may then change the rate by this much.
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

    /// Returns the standard error of [`ns_at`](Self::ns_at), `elapsed_ns` after the last sample.
    #[inline(never)]
    pub(crate) fn error_after(&self, elapsed_ns: u64) -> u64 {
        let by_rate = u128::from(self.rate_error_after(elapsed_ns)) * u128::from(elapsed_ns);
        hypot(u64::from(self.offset_error_ns), saturated(by_rate / u128::from(NS_PER_S)))
    }

    /// Returns the standard error of a duration of `elapsed_ns` by this rate.
    pub(super) fn error_of(&self, elapsed_ns: u64) -> u64 {
        Self { offset_error_ns: 0, ..*self }.error_after(elapsed_ns)
    }

    #[inline(never)]
    fn rate_error_after(&self, elapsed_ns: u64) -> u64 {
        let wander =
            saturated(u128::from(elapsed_ns) * u128::from(WANDER_PPB_PER_S) / u128::from(NS_PER_S));
        u64::from(self.rate_error_ppb).saturating_add(wander.min(MAX_WANDER_PPB)).max(1)
    }

    /// Returns the estimate after a step.
    ///
    /// A step carries no information about the rate. But an apparent step may be a rate that is far
    /// off (a virtual machine that was moved to another host), so the next sample may change the
    /// rate by much. If the next sample is a step as well, the slope between the two becomes the
    /// rate, provided that it is within a factor of four of the old one. At the third step in a
    /// row, any slope does.
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

    /// Returns the estimate with its first rate, which two samples measure. If they confirm the
    /// frequency that the machine declares, the declared frequency becomes the rate, but with the
    /// error of the measurement: firmware, hypervisors and emulators declare wrong ones.
    pub(crate) fn with_second(&self, sample: &Sample, declared_hz: Option<u64>) -> Self {
        let ticks = sample.tick.saturating_sub(self.tick);
        let elapsed_ns = sample.ns.saturating_sub(self.ns);
        // An OS clock that stood still shows no rate; the next sample will.
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

    /// Returns the greatest error to expect in a sample `elapsed_ns` after the last one, if nothing
    /// happened.
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

/// Returns the standard error of a sample, which is the sum of:
///
/// - A quarter of the bracket's half-width. The OS clock was read anywhere in the bracket, but in
///   practice at much the same place each time.
/// - Half the excess width that an interruption caused: it came before or after the read.
/// - The steps of clock and counter: each shows its last step, and the read was anywhere in one.
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

/// Returns the error to add while few brackets have been taken: the narrowest of them may itself
/// have been interrupted.
fn unproven_ns(sample: &Sample, rate: Rate) -> u64 {
    rate.ns(sample.width_ticks / 4)
}

/// Returns the part of `error` that a measurement with error `noise` corrects in a value with error
/// `prior`. The result has 16 fractional bits, as corrections of less than a nanosecond matter to a
/// rate.
#[inline(never)]
fn gain_q16(error: i64, prior: u64, noise: u64) -> i128 {
    // Limited to 2^47, so that a square and 32 fractional bits fit.
    let square = |error: u64| u128::from(error.min(1 << 47)).pow(2);
    let (prior, noise) = (square(prior), square(noise));
    let part_q32 = (prior << 32) / (prior + noise).max(1);
    i128::from(error) * i128::try_from(part_q32).unwrap_or(1 << 32) / (1 << 16)
}

/// Rounds a number with 16 fractional bits to the nearest whole number.
fn rounded(value_q16: i128) -> i64 {
    i64::try_from((value_q16 + (1 << 15)) >> 16).unwrap_or(0)
}

/// Returns the standard error of the weighted mean of two values with these errors.
#[inline(never)]
fn combined_error(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    saturated(product / u128::from(hypot(a, b).max(1))).max(1)
}

/// Returns the standard error of the sum of two values with these errors: the square root of the
/// sum of their squares, or up to 6 % more.
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

pub(super) fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
