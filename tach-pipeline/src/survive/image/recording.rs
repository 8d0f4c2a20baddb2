//! Reads the items of the flight recorder.

use core::time::Duration;

use super::{Image, WORD};
use crate::survive::layout::{head, recording};
use crate::survive::recorded_span::WORDS;

impl<'a> Image<'a> {
    /// Calls `each` with the records of each event and each span, the oldest first. A span has its
    /// words. Returns `false` if a part of them can't be read.
    pub(in crate::survive) fn recorded(
        &self,
        mut each: impl FnMut(Option<[u64; WORDS]>, &'a [u8]),
    ) -> bool {
        let [start, capacity] =
            [head::RECORDED_START, head::RECORDED_CAPACITY].map(|at| self.size(at));
        let [first, end] = [head::RECORDED_FIRST, head::RECORDED_END].map(|at| self.size(at));
        if first == end {
            return true;
        }
        // The end of the part may have no block yet.
        let most = self.bytes.len();
        let part = start.checked_add(capacity).and_then(|end| self.bytes.get(start..end.min(most)));
        let is_right = first < end && end - first <= capacity && first % WORD == 0;
        let Some(part) = part.filter(|_| is_right) else { return false };
        let part = Self::at(part, 0);
        let mut at = first;
        while at < end {
            let place = at % capacity;
            let entry = part.word(place);
            let length = usize::try_from(entry & u64::from(u32::MAX)).unwrap_or(usize::MAX);
            let whole = place.checked_add(length).and_then(|end| part.bytes.get(place..end));
            let is_right = length >= WORD && length % WORD == 0 && length <= end - at;
            let Some(whole) = whole.filter(|_| is_right) else { return false };
            at += length;
            let body = &whole[WORD..];
            match entry >> u32::BITS {
                recording::UNUSED => {}
                recording::EVENT => each(None, body),
                recording::SPAN => {
                    let Some((words, records)) = body.split_at_checked(WORD * WORDS) else {
                        return false;
                    };
                    let words = Self::at(words, 0);
                    each(Some(core::array::from_fn(|number| words.word(number * WORD))), records);
                }
                _ => return false,
            }
        }
        true
    }

    /// Returns how long ago an item may have happened.
    pub(in crate::survive) fn recorded_age(&self) -> Duration {
        Duration::from_nanos(self.word(head::RECORDED_AGE))
    }
}
