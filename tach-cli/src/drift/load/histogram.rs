//! A histogram of fixed size.

/// Smaller numbers have a bucket each. Larger ones enter only count, sum and maximum.
const BUCKETS: u64 = 4096;

#[derive(Debug, Clone)]
pub(super) struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u64,
    max: u64,
}

impl Histogram {
    pub(super) fn new() -> Self {
        let buckets = vec![0; usize::try_from(BUCKETS).expect("a few thousand")];
        Self { buckets, count: 0, sum: 0, max: 0 }
    }

    pub(super) fn record(&mut self, ns: u64) {
        if let Some(bucket) = usize::try_from(ns).ok().and_then(|at| self.buckets.get_mut(at)) {
            *bucket += 1;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(ns);
        self.max = self.max.max(ns);
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket += more;
        }
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the largest number, or `None` if the histogram is empty.
    pub(super) fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean needs no more")]
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the number at a rank given in thousandths, or `None` if the histogram is empty. If
    /// that number has no bucket, returns the largest number.
    pub(super) fn per_mille(&self, thousandths: u64) -> Option<u64> {
        let max = self.max()?;
        let rank = (self.count.saturating_mul(thousandths) / 1000).min(self.count - 1);
        let mut seen = 0;
        for (ns, bucket) in (0..).zip(&self.buckets) {
            seen += bucket;
            if seen > rank {
                return Some(ns);
            }
        }
        Some(max)
    }
}

/// Returns a number for people: `>4095` for one that has no bucket.
pub(super) fn shown(ns: u64) -> String {
    if ns < BUCKETS { ns.to_string() } else { format!(">{}", BUCKETS - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        numbers.into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn nothing_has_no_percentile() {
        let none = Histogram::new();
        assert_eq!((none.per_mille(500), none.max(), none.mean()), (None, None, None));
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_numbers() {
        // A permutation: 7 and 1000 have no common divisor.
        let numbers: Vec<u64> = (0..1000).map(|i| i * 7 % 1000).collect();
        let histogram = of(numbers.iter().copied());
        let mut sorted = numbers;
        sorted.sort_unstable();
        for (thousandths, index) in [(0, 0), (1, 1), (500, 500), (999, 999), (1000, 999)] {
            let expected = Some(sorted[index]);
            assert_eq!(histogram.per_mille(thousandths), expected, "{thousandths}");
        }
        assert_eq!((histogram.count(), histogram.max()), (1000, Some(999)));
        assert!((histogram.mean().unwrap() - 499.5).abs() < 1e-9);
    }

    #[test]
    fn one_number_is_every_percentile() {
        for thousandths in [0, 500, 999, 1000] {
            assert_eq!(of([42]).per_mille(thousandths), Some(42));
        }
    }

    #[test]
    fn numbers_without_a_bucket_count_as_the_largest() {
        let histogram = of([1, 2, BUCKETS - 1, BUCKETS, u64::MAX]);
        assert_eq!(histogram.per_mille(500), Some(BUCKETS - 1));
        let beyond = Some(u64::MAX);
        assert_eq!((histogram.per_mille(600), histogram.per_mille(999)), (beyond, beyond));
        assert_eq!(histogram.max(), Some(u64::MAX));
        assert_eq!([BUCKETS - 1, BUCKETS].map(shown), ["4095", ">4095"]);
    }

    #[test]
    fn two_together_are_as_one() {
        let mut low = of(0..100);
        low.add(&of(100..5000));
        let all = of(0..5000);
        for thousandths in [0, 10, 500, 999] {
            assert_eq!(low.per_mille(thousandths), all.per_mille(thousandths));
        }
        assert_eq!((low.count(), low.max(), low.mean()), (all.count(), all.max(), all.mean()));
    }
}
