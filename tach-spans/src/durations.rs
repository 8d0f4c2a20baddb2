//! How long spans take, by name: histograms that the back end adds to and any thread reads.

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

use self::histogram::Histogram;
use self::key::Key;
use self::options::Durations;
use self::snapshot::SpanDurations;
use tach_record::sync::Lock;

/// The durations of a pipeline's spans.
pub struct Collected {
    attributes: Vec<String>,
    /// Held for a few instructions by the back end, and never while a user's code runs.
    table: Lock<Table>,
}

/// All series.
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
        Self { attributes, table }
    }

    /// Returns the keys of the attributes that tell series apart.
    pub fn attributes(&self) -> &[String] {
        &self.attributes
    }

    pub(crate) fn record(&self, key: &Key, took: Duration) {
        self.lock().record(key, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
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
        let all: Vec<_> = {
            let table = self.lock();
            table.series.iter().map(|series| (series.key.clone(), series.total())).collect()
        };
        let snapshot = |(key, histogram): (Option<Key>, Histogram)| {
            SpanDurations::new(Option::as_ref(&key), &self.attributes, histogram)
        };
        all.into_iter().map(snapshot).collect()
    }
}

impl Table {
    fn new(most: usize, start: UnixTime) -> Self {
        Self { by_key: HashMap::new(), series: Vec::new(), overflow: None, most, since: [start; 2] }
    }

    /// Returns how many durations were recorded.
    pub fn recorded(&self) -> u64 {
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

    fn record(&mut self, key: &Key, ns: u64) {
        let known = self.by_key.get(key).copied();
        if let Some(at) = known.or_else(|| self.add(key)) {
            self.series[at].recent.record(ns);
        }
    }

    /// Adds a series if there is room for it and for the others. Returns its place.
    #[cold]
    fn add(&mut self, key: &Key) -> Option<usize> {
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
