//! The items of a ring as words and records, for a file in which they outlive the process.

use tach_core::UnixTime;

use crate::ring::Ring;
use tach_record::frame::{self, Time};
use tach_record::ids::SpanContext;
use tach_spans::spans::kept::Kept;
use tach_spans::spans::span::{Dropped, Span};

/// How many words a span has.
const WORDS: usize = 6;

/// Returns the words of a span that has ended. They contain whether parts were dropped, but not how
/// many.
pub(crate) fn words(span: &Span<'_>) -> [u64; WORDS] {
    let Span { has_values, is_on_one_thread, .. } = *span;
    let is_less = span.dropped != Dropped::default();
    let flags = [span.context.is_sampled, has_values, is_on_one_thread, is_less];
    let flags = flags.iter().rev().fold(0, |flags, is_set| flags << 1 | u64::from(*is_set));
    let [low, high] = span.context.trace_halves();
    [low, high, span.context.span, span.start.as_nanos(), span.end.as_nanos(), flags]
}

/// Returns the span with these words and `bytes` of records.
fn of([low, high, span, start, end, flags]: [u64; WORDS], bytes: usize) -> Kept {
    let is = |bit: u32| flags >> bit & 1 == 1;
    let trace = u128::from(low) | u128::from(high) << u64::BITS;
    Kept {
        context: SpanContext { trace, span, is_sampled: is(0) },
        start: UnixTime::from_nanos(start),
        end: UnixTime::from_nanos(end),
        is_unfinished: false,
        records: 0..bytes,
        has_values: is(1),
        is_on_one_thread: is(2),
        dropped: Dropped { is_more: is(3), ..Dropped::default() },
    }
}

/// Adds an item to a ring: a span with its words, or an event without any. Returns when it
/// happened.
pub(crate) fn add(ring: &mut Ring, words: &[u64], records: &[u8]) -> UnixTime {
    let Ok(words) = <[u64; WORDS]>::try_from(words) else {
        let time = frame::time(records).map_or(UnixTime::EPOCH, Time::unix_time);
        ring.event(records, time);
        return time;
    };
    let span = of(words, records.len());
    let has_ids = span.context.span != 0 && span.context.trace != 0;
    let Some(span) = span.span(records, &[]).filter(|_| has_ids) else { return UnixTime::EPOCH };
    ring.span(&span);
    span.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::tests::span_record;

    #[test]
    fn a_span_is_read_as_it_was_written() {
        let record = span_record();
        for flags in 0..16 {
            let words = [1, 2, 3, 4, u64::MAX - 5, flags];
            let span = of(words, record.len()).span(&record, &[]).unwrap();
            assert_eq!(self::words(&span), words);
        }
    }
}
