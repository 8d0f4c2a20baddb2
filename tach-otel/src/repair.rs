//! Repair of a span's times with two clocks that were read at the same moment.

use std::time::SystemTime;

use opentelemetry_sdk::trace::SpanData;
use tach_core::UnixTime;

/// The smallest difference of the two clocks that counts as a step: longer than a thread is usually
/// held up between the two reads, shorter than the steps of clocks that are set.
const APART_NS: u64 = 1_000_000;

/// The times of a trace's anchor and of the wall clock at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockPair {
    pub(crate) anchored_ns: u64,
    pub(crate) wall_ns: u64,
}

impl ClockPair {
    /// Returns whether the wall clock was set since the trace began.
    pub(crate) fn is_apart(self) -> bool {
        self.anchored_ns.abs_diff(self.wall_ns) >= APART_NS
    }

    /// Converts `time` from the wall clock to the anchor.
    fn moved(self, time: SystemTime) -> SystemTime {
        let ns = UnixTime::from_system_time(time).as_nanos();
        let ns = if self.wall_ns > self.anchored_ns {
            ns.saturating_sub(self.wall_ns - self.anchored_ns)
        } else {
            ns.saturating_add(self.anchored_ns - self.wall_ns)
        };
        UnixTime::from_nanos(ns).into()
    }

    /// Converts `time` to the anchor if it is nearer to the wall clock's time than to the anchor's.
    /// A clocked span's times are the anchor's already.
    fn settled(self, time: SystemTime) -> SystemTime {
        let ns = UnixTime::from_system_time(time).as_nanos();
        let is_wall_time = ns.abs_diff(self.wall_ns) < ns.abs_diff(self.anchored_ns);
        if self.is_apart() && is_wall_time { self.moved(time) } else { time }
    }
}

/// Moves the times of a finished span onto its trace's anchor.
///
/// `at_start` are the clocks at the span's start, if they were apart then. `at_end` are the clocks
/// at its end, unless the table has lost the anchor.
pub(crate) fn repair(span: &mut SpanData, at_start: Option<ClockPair>, at_end: Option<ClockPair>) {
    let settle = |clocks: Option<ClockPair>, time| clocks.map_or(time, |it| it.settled(time));
    let start = settle(at_start, span.start_time);
    let end = settle(at_end, span.end_time).max(start);
    for event in &mut span.events.events {
        let time = event.timestamp;
        // The wall clock may have been set before or after the event.
        let moved = [at_start, at_end].map(|clocks| clocks.map_or(time, |it| it.moved(time)));
        let may_be = [time, moved[0], moved[1]];
        let within = may_be.into_iter().find(|time| (start..=end).contains(time));
        event.timestamp = within.unwrap_or_else(|| time.clamp(start, end));
    }
    (span.start_time, span.end_time) = (start, end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use opentelemetry::InstrumentationScope;
    use opentelemetry::trace::{Event, SpanContext, SpanId, SpanKind, Status};
    use opentelemetry_sdk::trace::{SpanEvents, SpanLinks};
    use std::time::UNIX_EPOCH;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// Returns the clocks when the anchor's time is `anchored` and the wall clock's is `wall`.
    fn clocks(anchored: u64, wall: u64) -> ClockPair {
        ClockPair { anchored_ns: anchored * 1_000_000_000, wall_ns: wall * 1_000_000_000 }
    }

    /// Returns the start, events and end in seconds after the repair.
    fn repaired(times: &[u64], at_start: Option<ClockPair>, at_end: Option<ClockPair>) -> Vec<u64> {
        let [start, events @ .., end] = times else { panic!("a span has a start and an end") };
        let mut span = SpanData {
            span_context: SpanContext::NONE,
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: "work".into(),
            start_time: at(*start),
            end_time: at(*end),
            attributes: vec![],
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::default(),
        };
        span.events.events =
            events.iter().map(|time| Event::new("event", at(*time), vec![], 0)).collect();
        repair(&mut span, at_start, at_end);
        let times = span.events.events.iter().map(|event| event.timestamp);
        [span.start_time].into_iter().chain(times).chain([span.end_time]).map(seconds).collect()
    }

    fn seconds(time: SystemTime) -> u64 {
        time.duration_since(UNIX_EPOCH).unwrap().as_secs()
    }

    #[test]
    fn times_are_moved_by_the_difference_of_the_clocks() {
        let forgotten = None;
        for (times, at_start, at_end, result, why) in [
            (
                vec![100, 105, 110],
                forgotten,
                Some(clocks(110, 110)),
                vec![100, 105, 110],
                "no step",
            ),
            (
                vec![100, 105, 40],
                forgotten,
                Some(clocks(110, 40)),
                vec![100, 105, 110],
                "back by 70 s",
            ),
            (
                vec![100, 35, 40],
                forgotten,
                Some(clocks(110, 40)),
                vec![100, 105, 110],
                "event after it",
            ),
            (
                vec![100, 300, 310],
                forgotten,
                Some(clocks(110, 310)),
                vec![100, 100, 110],
                "forward",
            ),
            (
                vec![500, 505, 510],
                Some(clocks(100, 500)),
                Some(clocks(110, 510)),
                vec![100, 105, 110],
                "before",
            ),
            (
                vec![500, 505, 930],
                Some(clocks(100, 500)),
                Some(clocks(110, 930)),
                vec![100, 105, 110],
                "and in it",
            ),
            (
                vec![500, 925, 930],
                Some(clocks(100, 500)),
                Some(clocks(110, 930)),
                vec![100, 105, 110],
                "both",
            ),
            (
                vec![100, 105, 110],
                Some(clocks(100, 500)),
                Some(clocks(110, 930)),
                vec![100, 105, 110],
                "clocked",
            ),
            (
                vec![490, 505, 510],
                Some(clocks(100, 500)),
                Some(clocks(110, 510)),
                vec![90, 105, 110],
                "an age",
            ),
            (vec![100, 105, 40], forgotten, forgotten, vec![100, 100, 100], "no anchor"),
            (
                vec![100, 7, 110],
                forgotten,
                Some(clocks(110, 110)),
                vec![100, 100, 110],
                "event outside",
            ),
        ] {
            assert_eq!(repaired(&times, at_start, at_end), result, "{why}");
        }
    }

    #[test]
    fn a_time_halfway_between_the_clocks_is_kept() {
        assert_eq!(clocks(100, 500).settled(at(300)), at(300));
        assert_eq!(clocks(100, 500).settled(at(301)), at(0), "the control: less 400 seconds");
    }

    #[test]
    fn a_millisecond_makes_a_step() {
        let apart = |ns| ClockPair { anchored_ns: 5_000_000_000, wall_ns: 5_000_000_000 + ns };
        assert!(!apart(APART_NS - 1).is_apart());
        assert!(apart(APART_NS).is_apart());
    }
}
