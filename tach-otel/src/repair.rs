//! Repair of a span's times with two clocks that were read at the same moment.

use std::time::SystemTime;

use opentelemetry_sdk::trace::SpanData;

use crate::present::{Present, system_time, unix_ns};

impl Present {
    /// Converts `time` from the wall clock to the line.
    fn on_line(self, time: SystemTime) -> SystemTime {
        let ns = unix_ns(time);
        let ns = if self.wall_ns > self.before_ns {
            ns.saturating_sub(self.wall_ns - self.before_ns)
        } else {
            ns.saturating_add(self.before_ns - self.wall_ns)
        };
        system_time(ns)
    }

    /// Converts `time` to the line if it is nearer to the wall clock's time than to the line's. A
    /// clocked span's times are the line's already.
    fn settled(self, time: SystemTime) -> SystemTime {
        if !self.is_apart() {
            return time;
        }
        let ns = unix_ns(time);
        let is_wall_time = ns.abs_diff(self.wall_ns) < ns.abs_diff(self.before_ns);
        if is_wall_time { self.on_line(time) } else { time }
    }
}

/// Moves the times of a finished span onto its line. `presents` are its start's and its end's,
/// unless the span is older than the processor.
pub(crate) fn repair(span: &mut SpanData, presents: Option<[Present; 2]>) {
    let [mut start, mut end] = [span.start_time, span.end_time];
    if let Some([at_start, at_end]) = presents {
        (start, end) = (at_start.settled(start), at_end.settled(end));
    }
    end = end.max(start);
    for event in &mut span.events.events {
        let time = event.timestamp;
        // The wall clock may have been set before or after the event.
        let moved = presents.into_iter().flatten().map(|present| present.on_line(time));
        let within = [time].into_iter().chain(moved).find(|time| (start..=end).contains(time));
        event.timestamp = within.unwrap_or_else(|| time.clamp(start, end));
    }
    (span.start_time, span.end_time) = (start, end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::STEP_NS;
    use core::time::Duration;
    use opentelemetry::InstrumentationScope;
    use opentelemetry::trace::{Event, SpanContext, SpanId, SpanKind, Status};
    use opentelemetry_sdk::trace::{SpanEvents, SpanLinks};
    use std::time::UNIX_EPOCH;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// Returns the clocks when the line's time is `line` and the wall clock's is `wall`.
    fn clocks(line: u64, wall: u64) -> Present {
        present(line * 1_000_000_000, wall * 1_000_000_000)
    }

    fn present(now_ns: u64, wall_ns: u64) -> Present {
        Present { before_ns: now_ns, now_ns, wall_ns, stepped_ns: 0, has_ages: true }
    }

    /// Returns the start, events and end in seconds after the repair.
    fn repaired(times: &[u64], clocks: Option<[Present; 2]>) -> Vec<u64> {
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
        repair(&mut span, clocks);
        let times = span.events.events.iter().map(|event| event.timestamp);
        [span.start_time].into_iter().chain(times).chain([span.end_time]).map(seconds).collect()
    }

    fn seconds(time: SystemTime) -> u64 {
        time.duration_since(UNIX_EPOCH).unwrap().as_secs()
    }

    #[test]
    fn times_are_moved_by_the_difference_of_the_clocks() {
        for (times, clocks, result, why) in [
            ([100, 105, 110], [(100, 100), (110, 110)], [100, 105, 110], "no step"),
            ([100, 105, 40], [(100, 100), (110, 40)], [100, 105, 110], "back by 70 s"),
            ([100, 35, 40], [(100, 100), (110, 40)], [100, 105, 110], "event after it"),
            ([100, 300, 310], [(100, 100), (110, 310)], [100, 100, 110], "forward"),
            ([500, 505, 510], [(100, 500), (110, 510)], [100, 105, 110], "before"),
            ([500, 505, 930], [(100, 500), (110, 930)], [100, 105, 110], "and in it"),
            ([500, 925, 930], [(100, 500), (110, 930)], [100, 105, 110], "both"),
            ([100, 105, 110], [(100, 500), (110, 930)], [100, 105, 110], "clocked"),
            ([490, 505, 510], [(100, 500), (110, 510)], [90, 105, 110], "an age"),
            ([100, 7, 110], [(100, 100), (110, 110)], [100, 100, 110], "event outside"),
        ] {
            let clocks = clocks.map(|(line, wall)| super::tests::clocks(line, wall));
            assert_eq!(repaired(&times, Some(clocks)), result, "{why}");
        }
        assert_eq!(repaired(&[100, 105, 40], None), [100, 100, 100], "forgotten");
    }

    #[test]
    fn a_time_halfway_between_the_clocks_is_kept() {
        assert_eq!(clocks(100, 500).settled(at(300)), at(300));
        assert_eq!(clocks(100, 500).settled(at(301)), at(0), "the control: less 400 seconds");
    }

    #[test]
    fn a_millisecond_makes_a_step() {
        let apart = |ns| present(5_000_000_000, 5_000_000_000 + ns);
        assert!(!apart(STEP_NS - 1).is_apart());
        assert!(apart(STEP_NS).is_apart());
    }
}
