//! Reads the items of the flight recorder.

use core::time::Duration;

use super::{Image, WORD};
use crate::survive::layout::{PAGE, head, recording, table};
use crate::survive::recorded_span::WORDS;

/// The items that a flight recorder had kept, the oldest first.
#[derive(Debug, Default)]
pub(in crate::survive) struct Recorded {
    bytes: Vec<u8>,
    /// Where the items begin and end in the bytes.
    items: Vec<(Option<[u64; WORDS]>, core::ops::Range<usize>)>,
    /// Whether a part of them can't be read.
    pub(in crate::survive) is_damaged: bool,
}

impl Recorded {
    /// Returns the records of each event and each span. A span has its words.
    pub(in crate::survive) fn items(&self) -> impl Iterator<Item = (Option<[u64; WORDS]>, &[u8])> {
        let bytes = |range: &core::ops::Range<usize>| self.bytes.get(range.clone());
        self.items.iter().filter_map(move |(words, at)| Some((*words, bytes(at)?)))
    }
}

impl Image<'_> {
    /// Returns the items of the flight recorder, up to damage.
    pub(in crate::survive) fn recorded(&self) -> Recorded {
        let mut recorded = Recorded::default();
        if self.of_table(table::RECORDED_NUMBER) == 0 {
            return recorded;
        }
        let Some(bytes) = self.recorded_bytes() else {
            return Recorded { is_damaged: true, ..recorded };
        };
        let mut at = 0;
        while at < bytes.len() {
            let head = word(&bytes, at);
            let length = usize::try_from(head & u64::from(u32::MAX)).unwrap_or(usize::MAX);
            let is_right = length >= WORD && length % WORD == 0;
            let Some(end) = at.checked_add(length).filter(|it| is_right && *it <= bytes.len())
            else {
                recorded.is_damaged = true;
                break;
            };
            let body = at + WORD;
            at = end;
            match head >> u32::BITS {
                recording::EVENT => recorded.items.push((None, body..end)),
                recording::SPAN if end - body >= WORD * WORDS => {
                    let words = core::array::from_fn(|number| word(&bytes, body + number * WORD));
                    recorded.items.push((Some(words), body + WORD * WORDS..end));
                }
                _ => recorded.is_damaged = true,
            }
        }
        recorded.bytes = bytes;
        recorded
    }

    /// Returns the bytes that count, in one piece.
    fn recorded_bytes(&self) -> Option<Vec<u8>> {
        let [start, capacity] =
            [table::RECORDED_START, table::RECORDED_CAPACITY].map(|at| self.size(self.table + at));
        let [first, end] = [table::RECORDED_FIRST, table::RECORDED_END].map(|at| self.of_table(at));
        let length = usize::try_from(end.checked_sub(first)?).ok()?;
        let part = self.bytes.get(start..start.checked_add(capacity)?)?;
        let is_right = start % PAGE == 0 && capacity % PAGE == 0 && first % WORD as u64 == 0;
        let from = usize::try_from(first.checked_rem(capacity as u64)?).ok()?;
        if !is_right || length > capacity {
            return None;
        }
        let (before, behind) = part.split_at_checked(from)?;
        let at_end = length.min(behind.len());
        Some([behind.get(..at_end)?, before.get(..length - at_end)?].concat())
    }

    /// Returns how long ago an item may have happened.
    pub(in crate::survive) fn recorded_age(&self) -> Duration {
        Duration::from_nanos(self.word(head::RECORDED_AGE))
    }
}

/// Returns the word at a byte, or zero beyond the end.
fn word(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u64::from_ne_bytes(*word))
}
