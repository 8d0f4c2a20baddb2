//! Splits a batch into parts that a receiver accepts or refuses separately.

use super::Batch;
use crate::stats::Dropped;

impl Batch {
    /// Removes the events in the first `length` bytes of [`next`](Self::next), of which the
    /// receiver refused `count`, or all if that is `None`. Returns the refused events and the
    /// number of accepted ones.
    pub(in crate::sink) fn refused(
        &mut self,
        length: usize,
        count: Option<u64>,
    ) -> (Option<Dropped>, u64) {
        let part = self.take(length);
        let events = part.events_left() as u64;
        let all = part.dropped_left();
        let Some(count) = count.filter(|count| *count < events) else { return (all, 0) };
        // Nobody knows which of them.
        (all.map(|all| Dropped::new(count, all.from, all.to)), events - count)
    }

    /// Takes the events in the first `length` bytes of [`next`](Self::next) out of the batch.
    pub(in crate::sink) fn take(&mut self, length: usize) -> Self {
        let (start, first) = (self.written, self.done);
        self.wrote(length);
        let ends = self.ends[first..self.done].iter().map(|end| end - start).collect();
        let bytes = self.bytes[start..self.written].to_vec();
        let happened = self.happened[first..self.done].to_vec();
        Self { bytes, ends, happened, ..Self::new() }
    }

    /// Takes the first half of the unwritten events out of the batch. If fewer than two are left,
    /// returns `None`.
    pub(in crate::sink) fn take_half(&mut self) -> Option<Self> {
        let half = self.events_left() / 2;
        let last = *self.ends[self.done..].get(half.checked_sub(1)?)?;
        Some(self.take(last - self.written))
    }
}
