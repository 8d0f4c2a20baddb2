//! Reads the spans that wait.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{Image, WORD};
use crate::survive::layout::{PAGE, table, waiting};
use crate::survive::standing::Standing;

/// The spans that a process had not passed on. Their records are those of the process.
#[derive(Debug, Default)]
pub(in crate::survive) struct Waiting<'a> {
    /// In the order in which they came.
    pub(in crate::survive) spans: Vec<WaitingSpan<'a>>,
    /// Records whose span was not known yet.
    pub(in crate::survive) early: Vec<&'a [u8]>,
    /// Whether a part of them can't be read.
    pub(in crate::survive) is_damaged: bool,
}

#[derive(Debug)]
pub(in crate::survive) struct WaitingSpan<'a> {
    pub(in crate::survive) standing: Standing,
    /// Parts of the records, each of which has whole records.
    pub(in crate::survive) records: Vec<&'a [u8]>,
}

impl<'a> Image<'a> {
    /// Returns the spans that wait, up to damage.
    pub(in crate::survive) fn waiting(&self) -> Waiting<'a> {
        let mut waiting = Waiting::default();
        if self.of_table(table::SPANS_NUMBER) == 0 {
            return waiting;
        }
        let Some((bytes, early)) = self.waiting_bytes() else {
            waiting.is_damaged = true;
            return waiting;
        };
        let mut spans = HashMap::<u64, (usize, WaitingSpan<'a>)>::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let at = bytes.len() - rest.len();
            let Some((kind, span, body, after)) = entry(rest) else {
                waiting.is_damaged = true;
                break;
            };
            rest = after;
            match kind {
                waiting::SPAN => {
                    let Some((words, records)) = body.split_at_checked(Standing::WORDS * WORD)
                    else {
                        waiting.is_damaged = true;
                        continue;
                    };
                    let words = core::array::from_fn(|number| word(words, number));
                    let standing = Standing::of(words);
                    match spans.entry(span) {
                        Entry::Vacant(new) => {
                            let records = vec![records];
                            new.insert((at, WaitingSpan { standing, records }));
                        }
                        Entry::Occupied(mut known) => {
                            let (_, known) = known.get_mut();
                            known.standing = standing;
                            known.records.push(records);
                        }
                    }
                }
                waiting::GONE => {
                    spans.remove(&span);
                }
                waiting::EARLY if at >= early => waiting.early.push(body),
                waiting::EARLY => {}
                _ => waiting.is_damaged = true,
            }
        }
        let mut spans: Vec<_> = spans.into_values().collect();
        spans.sort_by_key(|(at, _)| *at);
        waiting.spans = spans.into_iter().map(|(_, span)| span).collect();
        waiting
    }

    /// Returns the bytes that count, and where in them the records begin whose span is not known.
    fn waiting_bytes(&self) -> Option<(&'a [u8], usize)> {
        let [start, capacity, length, early] =
            [table::SPANS_START, table::SPANS_CAPACITY, table::SPANS_LENGTH, table::SPANS_EARLY]
                .map(|at| self.size(self.table + at));
        let part = self.bytes.get(start..start.checked_add(capacity)?)?;
        let is_right = start % PAGE == 0;
        Some((part.get(..length).filter(|_| is_right)?, early))
    }
}

/// Splits the first entry off: its kind, its span, its body, and what follows.
fn entry(bytes: &[u8]) -> Option<(u64, u64, &[u8], &[u8])> {
    let head = word(bytes, 0);
    let length = usize::try_from(head & u64::from(u32::MAX)).ok()?;
    let is_right = length >= waiting::HEAD && length % WORD == 0;
    let (entry, rest) = bytes.split_at_checked(length).filter(|_| is_right)?;
    Some((head >> u32::BITS, word(entry, 1), entry.get(waiting::HEAD..)?, rest))
}

/// Returns a word, or zero beyond the end.
fn word(bytes: &[u8], number: usize) -> u64 {
    let word = bytes.get(number * WORD..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u64::from_ne_bytes(*word))
}
