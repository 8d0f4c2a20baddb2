//! Reads the items of the flight recorder.

use core::time::Duration;

use super::{Image, WORD};
use crate::file::layout::head;

impl<'a> Image<'a> {
    /// Calls `each` with the words and the records of each item, the oldest first. Returns `None`
    /// at a part that can't be read.
    pub(crate) fn recorded(&self, mut each: impl FnMut(&[u64], &'a [u8])) -> Option<()> {
        let [start, capacity] =
            [head::RECORDED_START, head::RECORDED_CAPACITY].map(|at| self.size(at));
        let [first, end] = [head::RECORDED_FIRST, head::RECORDED_END].map(|at| self.size(at));
        let part = Self::at(self.bytes.get(start..start.checked_add(capacity)?)?);
        let (mut at, mut words) = (first, Vec::new());
        (end.checked_sub(first)? <= capacity && first % WORD == 0).then_some(())?;
        while at < end {
            let place = at % capacity;
            let entry = part.word(place);
            let length = usize::try_from(entry & u64::from(u32::MAX)).ok()?;
            let whole = part.bytes.get(place..place.checked_add(length)?)?;
            let is_right = length >= WORD && length % WORD == 0 && length <= end - at;
            // The upper half counts the item's words and the entry itself. It is zero if the bytes
            // are unused.
            let count = usize::try_from(entry >> u32::BITS).ok().filter(|_| is_right)?;
            let (head, records) = whole.split_at_checked(count.max(1).checked_mul(WORD)?)?;
            if count > 0 {
                words.clear();
                words.extend((WORD..head.len()).step_by(WORD).map(|at| Self::at(head).word(at)));
                each(&words, records);
            }
            at += length;
        }
        Some(())
    }

    /// Returns how long ago an item may have happened.
    pub(crate) fn recorded_age(&self) -> Duration {
        Duration::from_nanos(self.word(head::RECORDED_AGE))
    }
}
