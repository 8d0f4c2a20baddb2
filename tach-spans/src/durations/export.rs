//! The durations for sinks that send them: all since the start, or those of one period.

use std::collections::BTreeSet;

use tach_core::UnixTime;

use super::histogram::Histogram;
use super::key::Key;
use super::{Series, Table};

/// A series in an export.
pub struct Point<'a> {
    /// `None` for the series of all spans that other series have no room for.
    pub key: Option<&'a Key>,
    pub histogram: &'a Histogram,
}

impl Table {
    /// Returns the time since which the durations in the points were collected.
    pub fn start(&self, is_delta: bool) -> UnixTime {
        self.since[usize::from(is_delta)]
    }

    /// Returns the names of the metrics other than the durations of spans, whose name is `None`.
    pub fn metrics(&self) -> BTreeSet<Option<&str>> {
        self.series.iter().map(Series::metric).collect()
    }

    /// Passes the series of a metric that contain durations.
    pub fn points(&self, metric: Option<&str>, is_delta: bool, mut each: impl FnMut(Point<'_>)) {
        for series in self.series.iter().filter(|series| series.metric() == metric) {
            let total;
            let histogram = if is_delta || series.before.count == 0 {
                &series.recent
            } else {
                total = series.total();
                &total
            };
            if histogram.count > 0 {
                each(Point { key: series.key.as_ref(), histogram });
            }
        }
    }
}

impl Series {
    fn metric(&self) -> Option<&str> {
        self.key.as_ref()?.metric()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        let mut key = Key::default();
        key.begin(name);
        key
    }

    fn points(table: &Table, is_delta: bool) -> Vec<(Option<String>, u64, u128)> {
        let mut points = Vec::new();
        table.points(None, is_delta, |point| {
            let name = point.key.map(|key| key.name().to_owned());
            points.push((name, point.histogram.count, point.histogram.sum_ns));
        });
        points
    }

    #[test]
    fn a_period_begins_anew_and_the_total_goes_on() {
        let mut table = Table::new(10, UnixTime::from_nanos(1));
        assert_eq!(table.recorded(), 0);
        table.of(&key("a")).unwrap().record(10);
        table.of(&key("b")).unwrap().record(20);
        table.of(&key("a")).unwrap().record(30);
        let all = vec![(Some("a".into()), 2, 40), (Some("b".into()), 1, 20)];
        assert_eq!(points(&table, true), all);
        assert_eq!(points(&table, false), all);
        table.end_period(UnixTime::from_nanos(5));
        table.of(&key("b")).unwrap().record(2);
        assert_eq!(points(&table, true), [(Some("b".into()), 1, 2)]);
        let all = vec![(Some("a".into()), 2, 40), (Some("b".into()), 2, 22)];
        assert_eq!(points(&table, false), all);
        assert_eq!(table.recorded(), 4);
        let starts = [true, false].map(|it| table.start(it));
        assert_eq!(starts.map(UnixTime::as_nanos), [5, 1]);
    }

    #[test]
    fn series_beyond_the_bound_are_one() {
        let mut table = Table::new(3, UnixTime::EPOCH);
        for name in ["a", "b", "c", "d", "a", "c"] {
            table.of(&key(name)).unwrap().record(1);
        }
        let all = [(Some("a".into()), 2, 2), (Some("b".into()), 1, 1), (None, 3, 3)];
        assert_eq!(points(&table, false), all);
        // With a bound of 0, even the first series is counted with the rest.
        let mut table = Table::new(0, UnixTime::EPOCH);
        (0..3).for_each(|_| table.of(&key("a")).unwrap().record(1));
        assert_eq!(points(&table, false), [(None, 3, 3)]);
    }
}
