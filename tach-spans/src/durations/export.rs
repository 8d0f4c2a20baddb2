//! The durations for sinks that send them: all since the start, or those of one period.

use tach_core::UnixTime;

use super::Table;
use super::histogram::Histogram;
use super::key::Key;

impl Table {
    /// Returns the time since which the durations in the points were collected.
    pub fn start(&self, is_delta: bool) -> UnixTime {
        self.since[usize::from(is_delta)]
    }

    /// Returns the names of the metrics that have points, with `None` for the durations of spans.
    pub fn metrics(&self, is_delta: bool) -> impl Iterator<Item = Option<&'static str>> {
        self.metrics.by_name.keys().copied().filter(move |&name| {
            let mut has_points = false;
            self.points(name, is_delta, |_, _| has_points = true);
            has_points
        })
    }

    /// Passes the series of a metric that contain durations.
    pub fn points(
        &self,
        metric: Option<&'static str>,
        is_delta: bool,
        mut each: impl FnMut(&Key, &Histogram),
    ) {
        for series in self.metrics.by_name.get(&metric).into_iter().flat_map(|it| &it.series) {
            let total;
            let histogram = if is_delta || series.before.count == 0 {
                &series.recent
            } else {
                total = series.total();
                &total
            };
            if histogram.count > 0 {
                each(&series.key, histogram);
            }
        }
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
        table.points(None, is_delta, |key, histogram| {
            let name = Some(key.name().to_owned()).filter(|_| !key.is_of_others());
            points.push((name, histogram.count, histogram.sum_ns));
        });
        points
    }

    #[test]
    fn a_period_begins_anew_and_the_total_goes_on() {
        let mut table = Table::new(10, UnixTime::from_nanos(1));
        assert_eq!(table.recorded(), 0);
        table.metrics.of(None, &key("a")).record(10);
        table.metrics.of(None, &key("b")).record(20);
        table.metrics.of(None, &key("a")).record(30);
        let all = vec![(Some("a".into()), 2, 40), (Some("b".into()), 1, 20)];
        assert_eq!(points(&table, true), all);
        assert_eq!(points(&table, false), all);
        table.end_period(UnixTime::from_nanos(5));
        table.metrics.of(None, &key("b")).record(2);
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
            table.metrics.of(None, &key(name)).record(1);
        }
        let all = [(Some("a".into()), 2, 2), (Some("b".into()), 1, 1), (None, 3, 3)];
        assert_eq!(points(&table, false), all);
        // With a bound of 0, even the first series is counted with the rest.
        let mut table = Table::new(0, UnixTime::EPOCH);
        (0..3).for_each(|_| table.metrics.of(None, &key("a")).record(1));
        assert_eq!(points(&table, false), [(None, 3, 3)]);
    }
}
