//! How long spans take, by name: histograms that any thread reads. The back end adds the durations of
//! spans whose records it has, and calls add those of all others.

mod at_calls;
mod bucket;
pub mod export;
pub mod histogram;
pub(crate) mod key;
pub mod options;
pub mod snapshot;

use core::time::Duration;
use std::collections::HashMap;
use std::sync::MutexGuard;

use tach_core::UnixTime;
use tach_log::Value;

use self::at_calls::AtCalls;
use self::histogram::Histogram;
use self::key::Key;
use self::options::Durations;
use self::snapshot::SpanDurations;
use crate::callsites;
use tach_record::frame::Code;
use tach_record::sync::Lock;

/// The durations of a pipeline's spans.
pub struct Collected {
    attributes: Vec<String>,
    /// Held for a few instructions by the back end, and never while a user's code runs.
    table: Lock<Table>,
    /// What the table does not contain yet. Locked after the table.
    at_calls: AtCalls,
}

/// All series.
#[derive(Clone)]
pub struct Table {
    by_key: HashMap<Key, usize>,
    series: Vec<Series>,
    /// The place of the series of all others, once there are too many.
    overflow: Option<usize>,
    most: usize,
    /// Since when all durations were collected, and since when those of the period were.
    since: [UnixTime; 2],
}

/// The durations of the spans with one name and the same attributes.
#[derive(Clone)]
struct Series {
    /// `None` for all others.
    key: Option<Key>,
    /// Since the last period ended, if anyone asks for periods.
    recent: Histogram,
    before: Histogram,
}

impl Collected {
    pub fn new(options: Durations, start: UnixTime) -> Self {
        let Durations { attributes, max_series } = options;
        let table = Lock::new(Table::new(max_series, start));
        Self { attributes, table, at_calls: AtCalls::new() }
    }

    /// Returns the keys of the attributes that tell series apart.
    pub fn attributes(&self) -> &[String] {
        &self.attributes
    }

    pub(crate) fn record(&self, key: &Key, took: Duration) {
        if let Some(histogram) = self.lock().of(key) {
            histogram.record(nanoseconds(took));
        }
    }

    /// Adds the duration of a span of the callsite with that code. Call if there are no
    /// [attributes](Self::attributes). Returns `false` if it could not be added.
    #[inline]
    pub fn add(&self, code: Code, took: Duration) -> bool {
        self.at_calls.add(code, nanoseconds(took))
    }

    /// Moves the durations that calls have added to the table. Returns how many durations were
    /// recorded. Call on the back end, which alone ends periods.
    pub fn collect(&self) -> u64 {
        let mut table = self.lock();
        self.at_calls.each(true, |number, more| table.add(number, more));
        table.recorded()
    }

    /// Adds a time that is no span's duration, by the chosen ones of the attributes, to a metric of
    /// that name, which begins with `tach.`.
    pub fn record_time(&self, name: &str, attributes: &[(&str, Value<'_>)], time: Duration) {
        let (mut key, mut bytes) = (Key::default(), Vec::new());
        key.begin(name);
        for chosen in &self.attributes {
            let found = attributes.iter().find(|(key, _)| key == chosen);
            key::write(&mut bytes, found.map_or(Value::Null, |(_, value)| *value));
            key.part(&bytes);
        }
        self.record(&key, time);
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
            self.at_calls.each(false, |number, more| copy.add(number, more));
            copy
        };
        let snapshot = |series: &Series| {
            SpanDurations::new(series.key.as_ref(), &self.attributes, series.total())
        };
        table.series.iter().map(snapshot).collect()
    }
}

impl Table {
    fn new(most: usize, start: UnixTime) -> Self {
        Self { by_key: HashMap::new(), series: Vec::new(), overflow: None, most, since: [start; 2] }
    }

    /// Returns how many durations were recorded.
    fn recorded(&self) -> u64 {
        self.series.iter().map(|series| series.before.count + series.recent.count).sum()
    }

    /// Ends a period: adds the durations of the period to the durations of earlier periods, and
    /// clears the former.
    pub fn end_period(&mut self, now: UnixTime) {
        for Series { recent, before, .. } in &mut self.series {
            before.add(recent);
            recent.clear();
        }
        self.since[1] = now;
    }

    /// Adds the durations of a callsite's spans.
    fn add(&mut self, number: u32, more: &Histogram) {
        let Some(metadata) = callsites::callsite(number) else { return };
        let mut key = Key::default();
        key.begin(metadata.name());
        if let Some(histogram) = self.of(&key) {
            histogram.add(more);
        }
    }

    /// Returns the histogram of the series with that key, if the table takes it.
    fn of(&mut self, key: &Key) -> Option<&mut Histogram> {
        let known = self.by_key.get(key).copied();
        let at = known.or_else(|| self.begin(key))?;
        Some(&mut self.series[at].recent)
    }

    /// Adds a series if there is room for it and for the others. Returns its place.
    #[cold]
    fn begin(&mut self, key: &Key) -> Option<usize> {
        let at = self.series.len();
        let has_room = self.overflow.is_none() && at + 1 < self.most;
        let new = match self.overflow {
            // The series of all others is of spans.
            _ if !has_room && key.metric().is_some() => return None,
            Some(overflow) => return Some(overflow),
            None if has_room => Some(key.clone()),
            None => None,
        };
        if has_room {
            self.by_key.insert(key.clone(), at);
        } else {
            self.overflow = Some(at);
        }
        let (recent, before) = (Histogram::new(), Histogram::new());
        self.series.push(Series { key: new, recent, before });
        Some(at)
    }
}

impl Series {
    fn total(&self) -> Histogram {
        let mut total = self.before.clone();
        total.add(&self.recent);
        total
    }
}

fn nanoseconds(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use tracing_core::dispatcher;
    use tracing_subscriber::registry;

    use super::*;
    use crate::callsites::Callsite;

    /// What a reader finds at a call must stay for the period that follows.
    #[test]
    fn a_copy_takes_nothing_from_the_next_period() {
        callsites::set_up();
        let code = dispatcher::with_default(&registry().into(), || {
            callsites::code(Callsite(tracing::info_span!("query").metadata().unwrap())).unwrap()
        });
        let durations = Collected::new(Durations::new(), UnixTime::EPOCH);
        let delta = || {
            let mut sum = 0;
            durations.lock().points(None, true, |point| sum += point.histogram.count);
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
