//! Histograms of how long spans take, by name, and of other times, which any thread may read. The
//! back end adds the durations of spans whose records it receives. Calls add the durations of
//! unsampled spans, which have no record, to partial histograms: the back end moves these here.

mod at_calls;
mod bucket;
mod declaring;
pub mod export;
pub mod histogram;
pub(crate) mod key;
pub mod options;
pub mod snapshot;

use core::time::Duration;
use std::collections::{BTreeMap, HashMap};
use std::sync::MutexGuard;

use foldhash::fast::RandomState;
use tach_core::UnixTime;
use tach_log::Value;

use self::at_calls::AtCalls;
use self::declaring::Declaring;
use self::histogram::Histogram;
use self::key::Key;
use self::options::Durations;
use self::snapshot::SpanDurations;
use tach_record::frame::Code;
use tach_record::sync::Lock;

/// The durations of a pipeline's spans.
pub struct Collected {
    attributes: Vec<String>,
    declaring: Declaring,
    /// Locked by the back end and by readers. No call of the program waits for it.
    table: Lock<Table>,
    /// What the table does not contain yet. Locked after the table.
    at_calls: AtCalls,
}

/// All series.
#[derive(Clone)]
pub struct Table {
    metrics: Metrics,
    /// Since when all durations were collected, and since when those of the period were.
    since: [UnixTime; 2],
}

/// The series by metric.
#[derive(Clone)]
struct Metrics {
    /// The durations of spans have no name.
    by_name: BTreeMap<Option<&'static str>, Metric>,
    /// The most series of a metric.
    most: usize,
}

#[derive(Clone, Default)]
struct Metric {
    by_key: HashMap<Key, usize, RandomState>,
    series: Vec<Series>,
}

/// The durations of the spans with one name and the same attributes, or the times with the same
/// attributes.
#[derive(Clone)]
struct Series {
    /// Empty for the series that counts whatever fits in no other series.
    key: Key,
    /// The durations since the last period ended: all durations, if no sink asks for periods.
    recent: Histogram,
    before: Histogram,
}

impl Collected {
    pub fn new(options: Durations, start: UnixTime) -> Self {
        let Durations { attributes, max_series } = options;
        let table = Lock::new(Table::new(max_series, start));
        let declaring = Declaring::new(&attributes);
        Self { attributes, declaring, table, at_calls: AtCalls::new(max_series) }
    }

    /// Returns the keys of the attributes that tell series apart.
    pub fn attributes(&self) -> &[String] {
        &self.attributes
    }

    pub(crate) fn record(&self, key: &Key, took: Duration) {
        self.lock().metrics.of(None, key).record(nanoseconds(took));
    }

    /// Returns whether spans of a callsite declare any of the chosen attributes.
    #[inline]
    pub fn are_declared(&self, code: Code) -> bool {
        self.declaring.has(code, &self.attributes)
    }

    /// Adds the duration of a span of the callsite with that code, which has none of the chosen
    /// attributes. Returns `false` if it could not be added.
    #[inline]
    pub fn add(&self, code: Code, took: Duration) -> bool {
        self.at_calls.add(code, nanoseconds(took))
    }

    /// Moves the durations that calls have added to the table. Returns how many durations were
    /// recorded. Call on the back end, which alone ends periods.
    pub fn collect(&self) -> u64 {
        let mut table = self.lock();
        self.at_calls.add_to(&mut table.metrics, self.attributes.len(), true);
        table.recorded()
    }

    /// Adds times that are no durations of spans to metrics of these names, by the chosen ones of
    /// the attributes. Returns `false` if they could not be added.
    pub fn add_times(
        &self,
        times: &[(&'static str, Duration)],
        attributes: &[(&str, Value<'_>)],
    ) -> bool {
        let (mut key, mut bytes) = (Key::default(), Vec::new());
        key.begin("");
        for chosen in &self.attributes {
            let found = attributes.iter().find(|(key, _)| key == chosen);
            key::write(&mut bytes, found.map_or(Value::Null, |(_, value)| *value));
            key.part(&bytes);
        }
        self.at_calls.add_times(times, &key)
    }

    /// Returns the table. In a forked process nobody may be left to release it.
    pub fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }

    /// Returns all series since the start.
    pub fn snapshot(&self) -> Vec<SpanDurations> {
        // Work on a copy: durations that are moved into the table while the back end exports it
        // would belong to no period.
        let table = {
            let table = self.lock();
            let mut copy = table.clone();
            self.at_calls.add_to(&mut copy.metrics, self.attributes.len(), false);
            copy
        };
        let by_name = table.metrics.by_name.iter();
        let series = by_name.flat_map(|(name, metric)| metric.series.iter().map(|it| (*name, it)));
        let attributes = &self.attributes;
        series.map(|(name, it)| SpanDurations::new(name, &it.key, attributes, it.total())).collect()
    }
}

impl Table {
    fn new(most: usize, start: UnixTime) -> Self {
        Self { metrics: Metrics::new(most), since: [start; 2] }
    }

    /// Returns how many durations were recorded.
    fn recorded(&self) -> u64 {
        let series = self.metrics.by_name.values().flat_map(|metric| &metric.series);
        series.map(|series| series.before.count + series.recent.count).sum()
    }

    /// Ends a period: moves its durations to the durations of earlier periods.
    pub fn end_period(&mut self, now: UnixTime) {
        self.metrics.each_series(|Series { recent, before, .. }| {
            before.add(recent);
            recent.clear();
        });
        self.since[1] = now;
    }
}

impl Metrics {
    fn new(most: usize) -> Self {
        Self { by_name: BTreeMap::new(), most }
    }

    /// Returns the histogram of a metric for that key.
    fn of(&mut self, name: Option<&'static str>, key: &Key) -> &mut Histogram {
        let metric = self.by_name.entry(name).or_default();
        let at = match metric.by_key.get(key) {
            Some(&at) => at,
            None => metric.begin(key, self.most),
        };
        &mut metric.series[at].recent
    }

    fn each_series(&mut self, each: impl FnMut(&mut Series)) {
        self.by_name.values_mut().flat_map(|metric| &mut metric.series).for_each(each);
    }
}

impl Metric {
    /// Adds a series, unless only the series of all others still has room. Returns the index of the
    /// new series, or of the series of all others.
    #[cold]
    fn begin(&mut self, key: &Key, most: usize) -> usize {
        let new = self.series.len();
        let key = if new + 1 < most { key.clone() } else { Key::default() };
        let at = *self.by_key.entry(key.clone()).or_insert(new);
        if at == new {
            self.series.push(Series { key, recent: Histogram::new(), before: Histogram::new() });
        }
        at
    }
}

impl Series {
    fn total(&self) -> Histogram {
        let mut total = self.before.clone();
        total.add(&self.recent);
        total
    }
}

#[inline]
fn nanoseconds(took: Duration) -> u64 {
    // `as_nanos` would take longer, since it multiplies 128 bits.
    took.as_secs().saturating_mul(1_000_000_000).saturating_add(took.subsec_nanos().into())
}

#[cfg(test)]
mod tests {
    use tracing_core::dispatcher;
    use tracing_subscriber::registry;

    use super::*;
    use crate::callsites::{self, Callsite};

    /// A reader's copy contains durations that calls hold. They must stay for the next period.
    #[test]
    fn a_copy_takes_nothing_from_the_next_period() {
        callsites::set_up();
        let code = dispatcher::with_default(&registry().into(), || {
            callsites::code(Callsite(tracing::info_span!("query").metadata().unwrap())).unwrap()
        });
        let durations = Collected::new(Durations::new(), UnixTime::EPOCH);
        let delta = || {
            let mut sum = 0;
            durations.lock().points(None, true, |_, histogram| sum += histogram.count);
            sum
        };
        assert!(durations.add(code, Duration::ZERO));
        assert_eq!((durations.collect(), delta()), (1, 1));
        assert!(durations.add(code, Duration::from_nanos(7)));
        let copy = durations.snapshot();
        assert_eq!((copy.len(), copy[0].name(), copy[0].count()), (1, "query", 2));
        durations.lock().end_period(UnixTime::EPOCH);
        assert_eq!((durations.collect(), delta()), (2, 1));
    }
}
