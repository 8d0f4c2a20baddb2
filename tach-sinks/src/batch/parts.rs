//! Splits a batch into parts that a receiver accepts or refuses separately.

use super::Batch;

impl<L: Copy> Batch<L> {
    /// Takes the events in the first `length` bytes of [`next`](Self::next) out of the batch.
    #[must_use]
    pub fn take(&mut self, length: usize) -> Self {
        let (start, first) = (self.written, self.done);
        self.wrote(length);
        let ends = self.ends[first..self.done].iter().map(|end| end - start).collect();
        let bytes = self.bytes[start..self.written].to_vec();
        let marks = self.marks[first..self.done].to_vec();
        Self { bytes, ends, marks, ..Self::new() }
    }

    /// Takes the first half of the unwritten events out of the batch. If fewer than two are left,
    /// returns `None`.
    pub(crate) fn take_half(&mut self) -> Option<Self> {
        let half = self.events_left() / 2;
        let last = *self.ends[self.done..].get(half.checked_sub(1)?)?;
        Some(self.take(last - self.written))
    }
}
