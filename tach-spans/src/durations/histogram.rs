//! Exponential histograms of OpenTelemetry's data model
//! (<https://opentelemetry.io/docs/specs/otel/metrics/data-model/#exponentialhistogram>).

use core::iter;
use core::num::NonZero;

use super::bucket::{self, MAX_SCALE};

/// The most buckets, as in OpenTelemetry's specification. At the scale 1 they cover all durations
/// that 64 bits can hold.
const MOST_BUCKETS: i32 = 160;

const NS_PER_S: f64 = 1e9;

/// Counts durations by their length. The total count, the sum, and the extremes are exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    pub count: u64,
    pub sum_ns: u128,
    /// The largest number if there are no durations.
    pub min_ns: u64,
    pub max_ns: u64,
    pub zeros: u64,
    pub scale: u32,
    /// The index of the first bucket.
    pub first: i32,
    pub counts: Vec<u64>,
}

impl Histogram {
    pub(super) const fn new() -> Self {
        Self {
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            zeros: 0,
            scale: MAX_SCALE,
            first: 0,
            counts: Vec::new(),
        }
    }

    pub(super) fn record(&mut self, ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        match NonZero::new(ns) {
            Some(ns) => {
                let at = bucket::index(ns) >> (MAX_SCALE - self.scale);
                self.add_to(at, 1);
            }
            None => self.zeros += 1,
        }
    }

    /// Adds the durations of another histogram.
    pub(super) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.zeros += other.zeros;
        self.lower_scale(self.scale.saturating_sub(other.scale));
        for (at, &count) in (other.first..).zip(&other.counts) {
            if count > 0 {
                self.add_to(at >> (other.scale - self.scale), count);
            }
        }
    }

    /// Returns an estimate of the duration that the fraction `q` of all durations does not exceed,
    /// in nanoseconds. The estimate is the middle of the duration's bucket on the logarithmic
    /// scale.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "an estimate, and casts of floats saturate"
    )]
    pub(super) fn quantile_ns(&self, q: f64) -> u64 {
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = self.zeros;
        if rank <= below {
            return 0;
        }
        for (at, count) in (self.first..).zip(&self.counts) {
            below += count;
            if rank <= below {
                let middle = ((f64::from(at) + 0.5) * self.width()).exp2() * NS_PER_S;
                return (middle.round() as u64).clamp(self.min_ns, self.max_ns);
            }
        }
        self.max_ns
    }

    /// Returns the largest error of [`quantile_ns`](Self::quantile_ns), as a fraction of the
    /// duration.
    pub(super) fn relative_error(&self) -> f64 {
        (self.width() / 2.0).exp2() - 1.0
    }

    /// Returns the width of a bucket in octaves.
    fn width(&self) -> f64 {
        f64::from(1_u32 << self.scale).recip()
    }

    fn add_to(&mut self, at: i32, count: u64) {
        let place = |this: &Self, at: i32| usize::try_from(at.checked_sub(this.first)?).ok();
        if let Some(known) = place(self, at).and_then(|at| self.counts.get_mut(at)) {
            *known += count;
            return;
        }
        let at = self.make_room(at);
        if let Some(new) = place(self, at).and_then(|at| self.counts.get_mut(at)) {
            *new += count;
        }
    }

    /// Adds the bucket `at`. If there are too many buckets then, lowers the scale. Returns the
    /// index of the bucket at the new scale.
    #[cold]
    fn make_room(&mut self, at: i32) -> i32 {
        let len = i32::try_from(self.counts.len()).unwrap_or(MOST_BUCKETS);
        let (low, high) = match len {
            0 => (at, at),
            _ => (at.min(self.first), at.max(self.first + len - 1)),
        };
        let mut shift = 0;
        while (high >> shift) - (low >> shift) >= MOST_BUCKETS {
            shift += 1;
        }
        self.lower_scale(shift);
        let (low, high) = (low >> shift, high >> shift);
        if self.counts.is_empty() {
            self.first = low;
        }
        let before = usize::try_from(self.first - low).unwrap_or(0);
        self.counts.splice(0..0, iter::repeat_n(0, before));
        self.first = low;
        self.counts.resize(usize::try_from(high - low + 1).unwrap_or(0), 0);
        at >> shift
    }

    /// Lowers the scale by `shift`: merges each 2^`shift` buckets into one.
    fn lower_scale(&mut self, shift: u32) {
        if shift == 0 {
            return;
        }
        let first = self.first >> shift;
        let mut len = 0;
        for at in 0..self.counts.len() {
            let place = (self.first + i32::try_from(at).unwrap_or(0)) >> shift;
            let to = usize::try_from(place - first).unwrap_or(0);
            let count = core::mem::take(&mut self.counts[at]);
            self.counts[to] += count;
            len = to + 1;
        }
        self.counts.truncate(len);
        self.first = first;
        self.scale -= shift;
    }

    /// Removes all durations, and keeps the memory.
    pub(super) fn clear(&mut self) {
        let mut counts = core::mem::take(&mut self.counts);
        counts.clear();
        *self = Self { counts, ..Self::new() };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn of(durations: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &ns in durations {
            histogram.record(ns);
        }
        histogram
    }

    /// Durations of all magnitudes, or close together.
    fn durations() -> impl Strategy<Value = Vec<u64>> {
        let any = (any::<u64>(), 0..64_u32).prop_map(|(ns, shift)| ns >> shift);
        let near = (1_000_000..1_200_000_u64).boxed();
        prop_oneof![prop::collection::vec(any, 0..60), prop::collection::vec(near, 0..200)]
    }

    /// Compares a histogram with a map of all buckets, at the highest scale at which the buckets
    /// are not too many.
    fn check(histogram: &Histogram, durations: &[u64]) {
        assert_eq!(histogram.count, durations.len() as u64);
        assert_eq!(histogram.sum_ns, durations.iter().map(|&ns| u128::from(ns)).sum());
        assert_eq!(histogram.min_ns, durations.iter().copied().min().unwrap_or(u64::MAX));
        assert_eq!(histogram.max_ns, durations.iter().copied().max().unwrap_or(0));
        let mut buckets = BTreeMap::new();
        for ns in durations.iter().copied().filter_map(NonZero::new) {
            *buckets.entry(bucket::index(ns)).or_insert(0_u64) += 1;
        }
        assert_eq!(histogram.zeros, durations.iter().filter(|&&ns| ns == 0).count() as u64);
        let mut scale = MAX_SCALE;
        while let Some((last, first)) = buckets.keys().next_back().zip(buckets.keys().next()) {
            if last - first < MOST_BUCKETS {
                break;
            }
            scale -= 1;
            let mut wider = BTreeMap::new();
            for (at, count) in buckets {
                *wider.entry(at >> 1).or_insert(0) += count;
            }
            buckets = wider;
        }
        assert_eq!(histogram.scale, scale);
        let found = (histogram.first..).zip(histogram.counts.iter().copied());
        assert_eq!(found.filter(|(_, count)| *count > 0).collect::<BTreeMap<_, _>>(), buckets);
        let ends = (histogram.counts.first(), histogram.counts.last());
        assert!(ends.0 != Some(&0) && ends.1 != Some(&0), "{:?}", histogram.counts);
    }

    proptest! {
        #[test]
        fn each_duration_is_counted_in_its_bucket(durations in durations()) {
            check(&of(&durations), &durations);
        }

        #[test]
        fn two_histograms_add_up(one in durations(), other in durations()) {
            let mut sum = of(&one);
            sum.add(&of(&other));
            let all: Vec<u64> = one.into_iter().chain(other).collect();
            check(&sum, &all);
            sum.clear();
            prop_assert_eq!(&sum, &Histogram::new());
        }

        #[test]
        fn quantiles_are_as_near_as_stated(mut durations in durations(), q in 0.0..=1.0_f64) {
            prop_assume!(!durations.is_empty());
            let histogram = of(&durations);
            durations.sort_unstable();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_precision_loss,
                clippy::cast_sign_loss,
                reason = "the numbers are small"
            )]
            let rank = ((q * durations.len() as f64).ceil() as usize).max(1);
            let exact = durations[rank - 1];
            let off = histogram.quantile_ns(q).abs_diff(exact);
            #[expect(clippy::cast_precision_loss, reason = "a bound for an estimate")]
            let most = exact as f64 * histogram.relative_error() * (1.0 + 1e-9) + 1.0;
            #[expect(clippy::cast_precision_loss, reason = "compared with an estimate")]
            let off = off as f64;
            prop_assert!(off <= most, "{exact} {off} {most}");
        }
    }

    #[test]
    fn the_error_is_that_of_the_scale() {
        let error = of(&[1_000]).relative_error();
        assert!((0.002_7..0.002_8).contains(&error), "{error}");
        // From 1 us to 1 s.
        let error = of(&[1_000, 1_000_000_000]).relative_error();
        assert!((0.044..0.045).contains(&error), "{error}");
        let histogram = of(&[0, 5, 5]);
        assert_eq!([0.0, 0.3, 0.5, 1.0].map(|q| histogram.quantile_ns(q)), [0, 0, 5, 5]);
        assert_eq!(histogram.quantile_ns(f64::NAN), 0);
    }
}
