//! Keeps the last records that the filter refused, to write them before an error.

use std::collections::VecDeque;

use tach_core::UnixTime;

/// How many bytes of records are kept. If they are more, the oldest records are forgotten.
const MOST_BYTES: usize = 4 * 1024 * 1024;

pub(super) struct Backtrace {
    records: usize,
    kept: VecDeque<Kept>,
    bytes: usize,
}

struct Kept {
    record: Vec<u8>,
    time: UnixTime,
}

impl Backtrace {
    /// Keeps up to `records` records.
    pub(super) const fn new(records: usize) -> Self {
        Self { records, kept: VecDeque::new(), bytes: 0 }
    }

    pub(super) fn keep(&mut self, record: &[u8], time: UnixTime) {
        // Reuse the memory of a record that is forgotten.
        let mut buffer = Vec::new();
        while self.kept.len() >= self.records || self.bytes + record.len() > MOST_BYTES {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.bytes -= oldest.record.len();
            buffer = oldest.record;
        }
        buffer.clear();
        buffer.extend_from_slice(record);
        self.bytes += record.len();
        self.kept.push_back(Kept { record: buffer, time });
    }

    /// Passes on the records that were kept, the oldest first, and forgets them.
    pub(super) fn release(&mut self, mut write: impl FnMut(&[u8], UnixTime)) {
        self.bytes = 0;
        for kept in self.kept.drain(..) {
            write(&kept.record, kept.time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn released(backtrace: &mut Backtrace) -> Vec<(usize, u64)> {
        let mut all = Vec::new();
        backtrace.release(|record, time| all.push((record.len(), time.as_nanos())));
        all
    }

    #[test]
    fn the_last_records_are_kept() {
        let mut backtrace = Backtrace::new(3);
        assert_eq!(released(&mut backtrace), []);
        (1..=5).for_each(|ns| backtrace.keep(&[0; 8], UnixTime::from_nanos(ns)));
        assert_eq!(released(&mut backtrace), [(8, 3), (8, 4), (8, 5)]);
        assert_eq!(released(&mut backtrace), []);
    }

    #[test]
    fn the_bytes_are_bounded() {
        let mut backtrace = Backtrace::new(1_000);
        let long = vec![0; MOST_BYTES / 2];
        (1..=3).for_each(|ns| backtrace.keep(&long, UnixTime::from_nanos(ns)));
        assert_eq!(released(&mut backtrace), [(long.len(), 2), (long.len(), 3)]);
        (1..=3).for_each(|ns| backtrace.keep(&[0; 8], UnixTime::from_nanos(ns)));
        backtrace.keep(&vec![0; MOST_BYTES + 8], UnixTime::from_nanos(4));
        assert_eq!(released(&mut backtrace), []);
        backtrace.keep(&[0; 8], UnixTime::from_nanos(5));
        assert_eq!(released(&mut backtrace), [(8, 5)]);
    }
}
