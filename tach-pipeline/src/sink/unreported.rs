//! Dropped events that were not reported yet, and the pause between two reports of them.

use core::time::Duration;
use std::time::Instant;

use crate::stats::Dropped;

/// The shortest time between two reports, except at the end.
const PAUSE: Duration = Duration::from_secs(1);

/// Why the back end looks for losses to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    Round,
    /// A flush reports what was dropped before, but keeps the pause: a program may flush after each
    /// record.
    Flush,
    /// The process or the pipeline ends. This report is the last, so no pause applies.
    End,
}

/// The time of the last report.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reported(Option<Instant>);

impl Reported {
    pub(crate) fn now(&mut self) {
        self.0 = Some(Instant::now());
    }

    /// Returns whether the next report is allowed.
    pub(crate) fn allows(&self, occasion: Occasion) -> bool {
        occasion == Occasion::End || self.0.is_none_or(|last| last.elapsed() >= PAUSE)
    }
}

/// Dropped events that were not reported yet.
#[derive(Debug, Default)]
pub(super) struct Unreported {
    pub(super) dropped: Option<Dropped>,
    /// Whether a flush came since these events were dropped.
    is_asked: bool,
    reported: Reported,
}

impl Unreported {
    /// Returns how many events there are.
    pub(super) fn count(&self) -> u64 {
        self.dropped.map_or(0, |dropped| dropped.count)
    }

    /// Returns the events if they are to be reported now. If the sink fails, only a flush or the
    /// end reports them. If a flush comes during the pause, the report follows after the pause.
    pub(super) fn due(&mut self, occasion: Occasion, works: bool) -> Option<Dropped> {
        let dropped = self.dropped?;
        self.is_asked |= occasion != Occasion::Round;
        let is_due = (works || self.is_asked) && self.reported.allows(occasion);
        is_due.then_some(dropped)
    }

    /// Notes that the events were reported.
    pub(super) fn report(&mut self) {
        (self.dropped, self.is_asked) = (None, false);
        self.reported.now();
    }
}

#[cfg(test)]
mod tests {
    use tach_core::UnixTime;

    use super::*;
    use crate::stats::Happened;

    fn drop_one(unreported: &mut Unreported) {
        Dropped::add(&mut unreported.dropped, Happened { time: UnixTime::EPOCH, level: None });
    }

    #[test]
    fn only_the_end_reports_during_the_pause() {
        let mut unreported = Unreported::default();
        assert!(unreported.due(Occasion::End, true).is_none());
        drop_one(&mut unreported);
        assert!(unreported.due(Occasion::Round, true).is_some());
        unreported.report();
        drop_one(&mut unreported);
        assert!(unreported.due(Occasion::Flush, true).is_none());
        assert!(unreported.due(Occasion::End, false).is_some());
    }

    #[test]
    fn what_a_flush_may_not_report_is_reported_after_the_pause() {
        let mut unreported = Unreported::default();
        drop_one(&mut unreported);
        assert!(unreported.due(Occasion::Round, false).is_none());
        unreported.reported.now();
        assert!(unreported.due(Occasion::Flush, false).is_none());
        unreported.reported = Reported::default();
        assert!(unreported.due(Occasion::Round, false).is_some());
        unreported.report();
        unreported.reported = Reported::default();
        drop_one(&mut unreported);
        assert!(unreported.due(Occasion::Round, false).is_none(), "no flush asked for this one");
    }
}
