//! What the file of a pipeline has of the spans that wait, beside their records.

use tach_core::UnixTime;

use crate::frame::Lost;
use crate::spans::span::{Dropped, Span};

/// The state of a span that is open, or that has ended and waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) end: Option<End>,
    /// Whether the span was already passed on as unfinished.
    pub(super) is_passed_on: bool,
    pub(super) dropped: Dropped,
}

/// The end of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) time: UnixTime,
    /// Whether the end was recorded.
    pub(super) is_recorded: bool,
    pub(super) is_on_one_thread: bool,
}

/// A change of what waits.
pub(super) enum Change<'a> {
    /// A span has that state and these records, which begin with those that it had before.
    Waits(u64, Standing, &'a [u8]),
    /// A span waits no more, or never did.
    Gone(u64),
    /// A record whose span is not known yet.
    Early(&'a [u8]),
}

const HAS_ENDED: u64 = 1;
const IS_RECORDED: u64 = 2;
const IS_ON_ONE_THREAD: u64 = 4;
const IS_PASSED_ON: u64 = 8;
const IS_MORE: u64 = 16;

impl Standing {
    /// Returns the state of a span that has ended.
    pub(super) const fn of_ended(span: &Span<'_>) -> Self {
        let Span { end: time, has_end: is_recorded, is_on_one_thread, dropped, .. } = *span;
        let end = Some(End { time, is_recorded, is_on_one_thread });
        Self { end, is_passed_on: false, dropped }
    }

    /// The number of words in a file.
    pub(super) const WORDS: usize = 5;

    /// Returns the words that a file has.
    pub(super) fn words(&self) -> [u64; Self::WORDS] {
        let Dropped { parts, bytes, is_more } = self.dropped;
        let mut flags = u64::from(self.is_passed_on) * IS_PASSED_ON + u64::from(is_more) * IS_MORE;
        if let Some(end) = self.end {
            flags |= HAS_ENDED;
            flags |= u64::from(end.is_recorded) * IS_RECORDED;
            flags |= u64::from(end.is_on_one_thread) * IS_ON_ONE_THREAD;
        }
        let both = |low: u32, high: u32| u64::from(low) | u64::from(high) << u32::BITS;
        [
            flags,
            self.end.map_or(0, |end| end.time.as_nanos()),
            bytes,
            both(parts.attributes, parts.events),
            both(parts.links, parts.errors),
        ]
    }

    /// Returns the state with these words.
    pub(super) fn of(words: [u64; Self::WORDS]) -> Self {
        let [flags, end, bytes, first, second] = words;
        let is = |flag: u64| flags & flag != 0;
        let half = |word: u64| u32::try_from(word & u64::from(u32::MAX)).unwrap_or(0);
        let halves = |word: u64| (half(word), half(word >> u32::BITS));
        let ((attributes, events), (links, errors)) = (halves(first), halves(second));
        Self {
            end: is(HAS_ENDED).then(|| End {
                time: UnixTime::from_nanos(end),
                is_recorded: is(IS_RECORDED),
                is_on_one_thread: is(IS_ON_ONE_THREAD),
            }),
            is_passed_on: is(IS_PASSED_ON),
            dropped: Dropped {
                parts: Lost { attributes, events, links, errors },
                bytes,
                is_more: is(IS_MORE),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let end = End {
            time: UnixTime::from_nanos(u64::MAX - 1),
            is_recorded: true,
            is_on_one_thread: false,
        };
        let parts = Lost { attributes: 1, events: u32::MAX, links: 3, errors: 4 };
        let dropped = Dropped { parts, bytes: 5, is_more: true };
        let whole = Standing { end: Some(end), is_passed_on: true, dropped };
        let late = End { is_recorded: false, is_on_one_thread: true, ..end };
        for state in [Standing::default(), whole, Standing { end: Some(late), ..whole }] {
            assert_eq!(Standing::of(state.words()), state);
        }
    }
}
