//! Spans that start ahead of the clock, because their start was given.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt};

use crate::line::ERROR_NS;
use crate::listed::{Key, key};

/// The spans whose given start is ahead of the clock, by at most the error between the clocks, with
/// the elapsed times of their starts: their children must not start before them.
///
/// Elapsed times never go back, so a step of the wall clock changes nothing here.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// The latest start. No span is ahead of a later time.
    latest_ns: AtomicU64,
    starts: Mutex<Vec<(Key, u64)>>,
}

impl Ahead {
    pub(crate) const fn new() -> Self {
        Self { latest_ns: AtomicU64::new(0), starts: Mutex::new(Vec::new()) }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Key, u64)>> {
        self.starts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a span that starts at `start_ns`, if that is ahead of `now_ns` by at most the clocks'
    /// error. (A caller chose any later start.) A span without ids is not noted: its children could
    /// not find it.
    #[cold]
    pub(crate) fn note(&self, span: &SpanContext, start_ns: u64, now_ns: u64) {
        if start_ns <= now_ns || start_ns - now_ns > ERROR_NS || !span.is_valid() {
            return;
        }
        let mut starts = self.lock();
        starts.retain(|(_, start_ns)| *start_ns > now_ns);
        starts.push((key(span), start_ns));
        // ORDERING: Relaxed, because the lock orders the starts. A thread that learned of the span
        // loads the span's start or a later time, since all threads see the values of one atomic in
        // one order.
        self.latest_ns.fetch_max(start_ns, Ordering::Relaxed);
    }

    /// Returns `now_ns`, or the start of `parent` if that is ahead.
    #[inline]
    pub(crate) fn after(&self, parent: &Context, now_ns: u64) -> u64 {
        // ORDERING: Relaxed, because a thread that learned of the parent loads the parent's start
        // or a later time.
        if now_ns >= self.latest_ns.load(Ordering::Relaxed) {
            return now_ns;
        }
        self.find(parent.span().span_context(), now_ns)
    }

    #[cold]
    fn find(&self, parent: &SpanContext, now_ns: u64) -> u64 {
        if !parent.is_valid() {
            return now_ns;
        }
        let (parent, starts) = (key(parent), self.lock());
        let start_ns = starts.iter().find(|(span, _)| *span == parent).map(|(_, ns)| *ns);
        let start_ns = start_ns.filter(|ns| ns.saturating_sub(now_ns) <= ERROR_NS);
        start_ns.map_or(now_ns, |ns| ns.max(now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry::trace::{SpanId, TraceFlags, TraceId, TraceState};

    fn span(number: u64) -> SpanContext {
        let (trace, span) = (TraceId::from(7), SpanId::from(number));
        SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::default())
    }

    #[test]
    fn only_children_of_a_span_that_is_ahead_by_the_clocks_error_wait_for_it() {
        let ahead = Ahead::new();
        let now = 1_000_000_000;
        ahead.note(&span(1), now + ERROR_NS, now);
        ahead.note(&span(2), now + ERROR_NS + 1, now);
        ahead.note(&span(3), now, now);
        ahead.note(&span(4), now + 7, now);
        let after =
            |number, ns| ahead.after(&Context::new().with_remote_span_context(span(number)), ns);
        for (number, ns, expected) in [
            (1, now, now + ERROR_NS),
            (1, now + ERROR_NS - 1, now + ERROR_NS),
            (1, now + ERROR_NS + 1, now + ERROR_NS + 1),
            (1, now - 1, now - 1),
            (2, now, now),
            (3, now, now),
            (4, now, now + 7),
            (4, now + 8, now + 8),
            (5, now, now),
        ] {
            assert_eq!(after(number, ns), expected, "{number}, {ns}");
        }
        ahead.note(&span(6), now + 10, now + 9);
        assert_eq!(ahead.lock().len(), 2, "a span that is ahead no longer makes room");
        assert_eq!(after(6, now + 9), now + 10);
    }
    /// A tracer that does nothing starts spans without ids, and the parent of a root has no ids
    /// either.
    #[test]
    fn a_span_without_ids_is_no_root_s_parent() {
        let ahead = Ahead::new();
        ahead.note(&SpanContext::NONE, 1_007, 1_000);
        assert_eq!(ahead.lock().len(), 0);
        ahead.note(&span(1), 1_007, 1_000);
        assert_eq!(ahead.after(&Context::new(), 1_000), 1_000);
    }
}
