//! The spans that started near a step, by their ids.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opentelemetry::trace::SpanContext;

use crate::line::Line;

/// The ids of a span's trace and of the span.
pub(crate) type Key = (u128, u64);

/// Ended spans are removed only once at least this many spans are listed.
const LEAST: usize = 8192;

/// A span that started near a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) line: Line,
    /// The elapsed time at which the span was created, whatever start was given.
    pub(crate) elapsed_ns: u64,
}

/// The listed spans. A span that has ended is found until its place is needed, because its children
/// may start later.
#[derive(Debug)]
pub(crate) struct Listed(Mutex<Spans>);

#[derive(Debug)]
struct Spans {
    by_ids: BTreeMap<Key, (Entry, State)>,
    /// The number of spans at which those that have ended are removed.
    limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Ended,
}

pub(crate) fn key(span: &SpanContext) -> Key {
    (u128::from_ne_bytes(span.trace_id().to_bytes()), u64::from_ne_bytes(span.span_id().to_bytes()))
}

impl Listed {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Spans { by_ids: BTreeMap::new(), limit: LEAST }))
    }

    fn lock(&self) -> MutexGuard<'_, Spans> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists an open span, unless it is listed already, or has no ids.
    pub(crate) fn add(&self, span: &SpanContext, entry: Entry) {
        if !span.is_valid() {
            return;
        }
        let spans = &mut *self.lock();
        if spans.by_ids.contains_key(&key(span)) {
            return;
        }
        if spans.by_ids.len() >= spans.limit {
            spans.by_ids.retain(|_, (_, state)| *state == State::Open);
            spans.limit = LEAST.max(2 * spans.by_ids.len());
        }
        spans.by_ids.insert(key(span), (entry, State::Open));
    }

    pub(crate) fn find(&self, span: &SpanContext) -> Option<Entry> {
        self.lock().by_ids.get(&key(span)).map(|(entry, _)| *entry)
    }

    pub(crate) fn end(&self, span: &SpanContext) {
        if let Some((_, state)) = self.lock().by_ids.get_mut(&key(span)) {
            *state = State::Ended;
        }
    }

    /// Calls `work` with an empty list.
    #[cfg(test)]
    pub(crate) fn without_all(&self, work: impl FnOnce()) {
        let all = core::mem::take(&mut self.lock().by_ids);
        work();
        self.lock().by_ids = all;
    }

    #[cfg(test)]
    pub(crate) fn open(&self) -> usize {
        self.lock().by_ids.values().filter(|(_, state)| *state == State::Open).count()
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

    const ENTRY: Entry = Entry { line: Line(5), elapsed_ns: 6 };

    #[test]
    fn open_spans_stay_and_ended_ones_make_room() {
        let listed = Listed::new();
        let numbers = || 1..=LEAST as u64;
        let is_listed = |number| listed.find(&span(number)) == Some(ENTRY);
        numbers().for_each(|number| listed.add(&span(number), ENTRY));
        assert_eq!(listed.open(), LEAST);
        listed.add(&span(1), Entry { elapsed_ns: 7, ..ENTRY });
        listed.add(&SpanContext::NONE, ENTRY);
        assert_eq!(listed.open(), LEAST, "one is listed already, one has no ids");
        assert!(numbers().all(is_listed));
        numbers().filter(|number| number % 2 == 0).for_each(|number| listed.end(&span(number)));
        assert_eq!(listed.open(), LEAST / 2);
        listed.add(&span(2), ENTRY);
        assert_eq!(listed.open(), LEAST / 2, "an ended span is not opened again");
        assert!(numbers().all(is_listed));
        listed.add(&span(LEAST as u64 + 1), ENTRY);
        assert!(is_listed(LEAST as u64 + 1));
        assert!(numbers().all(|number| is_listed(number) == (number % 2 == 1)));
    }
}
