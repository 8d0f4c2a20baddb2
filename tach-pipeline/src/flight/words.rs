//! The items of a ring as words and records, for a file in which they outlive the process.

use tach_core::UnixTime;

use super::ring::Ring;
use crate::frame::{self, Lost, SpanPart, Time, What};
use crate::ids::SpanContext;
use crate::spans::kept::Kept;
use crate::spans::span::{Dropped, Span};

/// How many words a span has.
const WORDS: usize = 9;

/// Returns the words of a span that has ended.
pub(super) fn words(span: &Span<'_>) -> [u64; WORDS] {
    let Dropped { parts, bytes, is_more } = span.dropped;
    let Span { has_values, has_end, is_on_one_thread, .. } = *span;
    let flags = [span.context.is_sampled, has_values, has_end, is_on_one_thread, is_more];
    let flags = flags.iter().rev().fold(0, |flags, is_set| flags << 1 | u64::from(*is_set));
    let [low, high] = span.context.trace_halves();
    let both = |low: u32, high: u32| u64::from(low) | u64::from(high) << u32::BITS;
    [
        low,
        high,
        span.context.span,
        span.start.as_nanos(),
        span.end.as_nanos(),
        flags,
        bytes,
        both(parts.attributes, parts.events),
        both(parts.links, parts.errors),
    ]
}

/// Returns the span with these words and `bytes` of records.
fn of(words: [u64; WORDS], bytes: usize) -> Kept {
    let [low, high, span, start, end, flags, cut, first, second] = words;
    let is = |bit: u32| flags >> bit & 1 == 1;
    let half = |word: u64| u32::try_from(word & u64::from(u32::MAX)).unwrap_or(0);
    let halves = |word: u64| (half(word), half(word >> u32::BITS));
    let ((attributes, events), (links, errors)) = (halves(first), halves(second));
    let trace = u128::from(low) | u128::from(high) << u64::BITS;
    Kept {
        context: SpanContext { trace, span, is_sampled: is(0) },
        start: UnixTime::from_nanos(start),
        end: UnixTime::from_nanos(end),
        is_unfinished: false,
        records: 0..bytes,
        has_values: is(1),
        has_end: is(2),
        is_on_one_thread: is(3),
        dropped: Dropped {
            parts: Lost { attributes, events, links, errors },
            bytes: cut,
            is_more: is(4),
        },
    }
}

/// Adds an item to a ring: a span with its words, or an event without any. Returns when it happened.
pub(super) fn add(ring: &mut Ring, words: &[u64], records: &[u8]) -> UnixTime {
    let Ok(words) = <[u64; WORDS]>::try_from(words) else {
        let time = frame::time(records).map_or(UnixTime::EPOCH, Time::unix_time);
        ring.event(records, time);
        return time;
    };
    let span = of(words, records.len());
    let start = frame::split_all(records).next().and_then(SpanPart::read);
    let is_whole = start.is_some_and(|it| matches!(it.what, What::Start(_)));
    if !is_whole || span.context.span == 0 || span.context.trace == 0 {
        return UnixTime::EPOCH;
    }
    ring.span(&span.span(records, &[]));
    span.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_read_as_it_was_written() {
        for flags in 0..32 {
            let parts = [u64::MAX - 1, 1 | 2 << 32];
            let words = [1, 2, 3, 4, u64::MAX - 5, flags, 6, parts[0], parts[1]];
            let kept = of(words, 7);
            assert_eq!(self::words(&kept.span(&[0; 7], &[])), words);
        }
    }
}
