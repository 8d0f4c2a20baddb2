//! The durations as a sink takes them: since the start, or of a period.

use tach_core::UnixTime;

use super::histogram::Histogram;
use super::key::Key;
use super::temporality::Temporality;
use super::{Series, Table};

/// A series as it is exported.
pub(crate) struct Point<'a> {
    /// `None` for all series beyond the bound.
    pub(crate) key: Option<&'a Key>,
    pub(crate) histogram: &'a Histogram,
}

impl Table {
    pub(crate) fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Returns when the time began that the points are about.
    pub(crate) fn start(&self, temporality: Temporality) -> UnixTime {
        match temporality {
            Temporality::Cumulative => self.periods.start,
            Temporality::Delta => self.periods.period_start,
        }
    }

    /// Passes the series that have durations.
    pub(crate) fn points(&self, temporality: Temporality, mut each: impl FnMut(Point<'_>)) {
        for series in &self.series {
            let total;
            let histogram = match temporality {
                Temporality::Cumulative if series.before.count > 0 => {
                    total = series.total();
                    &total
                }
                _ => &series.recent,
            };
            if histogram.count > 0 {
                each(Point { key: series.key.as_ref(), histogram });
            }
        }
    }

    /// Ends a period: adds the recent durations to those before, and clears them.
    pub(crate) fn end_period(&mut self, now: UnixTime) {
        for Series { recent, before, .. } in &mut self.series {
            before.add(recent);
            recent.clear();
        }
        self.periods.period_start = now;
    }
}

impl Histogram {
    /// Removes all durations, and keeps the memory.
    pub(super) fn clear(&mut self) {
        let mut counts = core::mem::take(&mut self.counts);
        counts.clear();
        *self = Self { counts, ..Self::new() };
    }
}
