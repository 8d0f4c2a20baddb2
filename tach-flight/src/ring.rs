//! Keeps the records of the last spans and events in blocks. When the memory is used up, forgets
//! the oldest block to make room for the next.

use core::mem;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

use tach_core::UnixTime;

use tach_record::frame;
use tach_spans::spans::kept::Kept;
use tach_spans::spans::span::Span;

/// The smallest number of blocks in a full ring. The ring forgets a whole block at a time, so with
/// few blocks it would forget too much.
const BLOCKS: usize = 16;
/// How much later than an event of the next round a span may come.
const LATE: Duration = Duration::from_secs(5);
const MOST_BLOCK_BYTES: usize = 256 * 1024;
/// The smallest block, which has room for a few records.
const LEAST_BLOCK_BYTES: usize = 4 * 1024;

/// The records of events and spans.
#[derive(Clone, Default)]
pub(crate) struct Block {
    pub(crate) bytes: Vec<u8>,
    /// The spans, with the places of their records in the block.
    pub(crate) spans: Vec<Kept>,
    /// The latest time of an item: when an event happened, or when a span ended.
    last: Option<UnixTime>,
}

/// An event or a span in a block.
pub(crate) enum Item<'a> {
    /// The time and the record of an event.
    Event(UnixTime, &'a [u8]),
    /// A span without its events.
    Span(Stored<'a>),
}

/// A span in a block.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'a> {
    pub(crate) kept: &'a Kept,
    block: &'a Block,
}

impl<'a> Stored<'a> {
    /// Returns the span. Values of the keys `redacted` are hidden.
    pub(crate) fn span(self, redacted: &'a [String]) -> Option<Span<'a>> {
        self.kept.span(&self.block.bytes, redacted)
    }
}

impl Block {
    fn with_room(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ..Self::default() }
    }

    pub(crate) fn add_event(&mut self, record: &[u8], time: UnixTime) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        frame::set_time(&mut self.bytes[start..], time);
        self.last = self.last.max(Some(time));
    }

    pub(crate) fn add_span(&mut self, span: &Span<'_>) {
        self.spans.push(Kept::without_events(span, &mut self.bytes));
        // Take the later end: a span is added when it closes but ends when a thread last left it,
        // so the ends are not in order.
        self.last = self.last.max(Some(span.end));
    }

    /// Returns first all events and then all spans, each in the order in which they were added.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let records = frame::split_all(&self.bytes);
        let events = records.filter(|record| !frame::is_of_span(record)).filter_map(|record| {
            let time = frame::time(record)?.unix_time();
            Some(Item::Event(time, record))
        });
        events.chain(self.spans.iter().map(|kept| Item::Span(Stored { kept, block: self })))
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.bytes.len() + bytes <= self.bytes.capacity()
    }

    /// Returns how much memory the block takes.
    fn size(&self) -> usize {
        self.bytes.capacity() + self.spans.capacity() * size_of::<Kept>()
    }
}

pub(crate) struct Ring {
    most: usize,
    pub(crate) max_age: Duration,
    block_bytes: usize,
    /// The full blocks, the oldest first. That is not the order of their arrival: the back end
    /// passes on the spans of a round after the events of the next round.
    full: VecDeque<Arc<Block>>,
    /// The block that is being filled.
    pub(crate) current: Block,
    /// The memory of the full blocks.
    bytes: usize,
}

impl Ring {
    pub(crate) fn new(most: usize, max_age: Duration) -> Self {
        let block_bytes = (most / BLOCKS).clamp(LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES);
        Self {
            most,
            max_age,
            block_bytes,
            full: VecDeque::new(),
            current: Block::default(),
            bytes: 0,
        }
    }

    /// Keeps the record of an event. Returns `false` if the record is too long.
    pub(crate) fn event(&mut self, record: &[u8], time: UnixTime) -> bool {
        let has_room = self.make_room(record.len());
        if has_room {
            self.current.add_event(record, time);
        }
        has_room
    }

    /// Keeps a span that has ended. Returns `false` if its records are too long.
    pub(crate) fn span(&mut self, span: &Span<'_>) -> bool {
        let has_room = self.make_room(span.parts().map(<[u8]>::len).sum());
        if has_room {
            self.make_room_for_span();
            self.current.add_span(span);
        }
        has_room
    }

    /// Forgets the blocks that are too old, and frees their memory.
    pub(crate) fn forget(&mut self, now: UnixTime) {
        while self.full.front().is_some_and(|oldest| self.is_too_old(oldest.last, now)) {
            self.forget_oldest();
        }
        if self.is_too_old(self.current.last, now) {
            self.current = Block::default();
        }
    }

    /// Returns the time before which events and spans are too old.
    pub(crate) fn since(&self, now: UnixTime) -> Option<UnixTime> {
        now.checked_sub(self.max_age)
    }

    fn is_too_old(&self, end: Option<UnixTime>, now: UnixTime) -> bool {
        end.zip(self.since(now)).is_some_and(|(end, since)| end < since)
    }

    /// Returns how much memory the ring may take.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Returns the blocks, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Block> {
        self.full.iter().map(|block| &**block).chain([&self.current])
    }

    /// Returns the full blocks, and a copy of the block that is being filled.
    pub(crate) fn blocks(&self) -> (Vec<Arc<Block>>, Block) {
        (self.full.iter().cloned().collect(), self.current.clone())
    }

    /// Makes room for a record, if need be by forgetting the oldest. Returns whether there is room.
    #[inline]
    fn make_room(&mut self, bytes: usize) -> bool {
        self.current.has_room(bytes) || self.begin_block(bytes)
    }

    fn make_room_for_span(&mut self) {
        let spans = self.current.spans.len();
        if spans == self.current.spans.capacity() {
            // Make room for both: while the vector grows, the old and the new memory exist at the
            // same time.
            let more = (spans / 4).max(8);
            self.forget_for((spans + more) * size_of::<Kept>());
            self.current.spans.reserve_exact(more);
        }
    }

    #[cold]
    fn begin_block(&mut self, bytes: usize) -> bool {
        let room = bytes.max(self.block_bytes);
        if room > self.most / 2 {
            return false;
        }
        let full = mem::take(&mut self.current);
        if !full.bytes.is_empty() {
            self.bytes += full.size();
            // Spans come behind the events of the next round. A block that is later by more is of
            // the time before the clock was set back, so it is older.
            let is_older = |block: &Arc<Block>| {
                let ahead = block
                    .last
                    .zip(full.last)
                    .and_then(|(it, full)| it.checked_duration_since(full));
                ahead.is_none_or(|ahead| ahead.is_zero() || ahead > LATE)
            };
            let place = self.full.iter().rposition(is_older).map_or(0, |at| at + 1);
            self.full.insert(place, Arc::new(full));
        }
        let unused = self.forget_for(room).filter(|unused| unused.has_room(bytes));
        self.current = unused.unwrap_or_else(|| Block::with_room(room));
        true
    }

    /// Forgets the oldest blocks until there is memory for `bytes` more bytes. Returns the block
    /// that was forgotten last, emptied.
    fn forget_for(&mut self, bytes: usize) -> Option<Block> {
        let mut unused = None;
        while self.bytes + self.current.size() + bytes > self.most && !self.full.is_empty() {
            drop(unused.take());
            unused = self.forget_oldest();
        }
        unused
    }

    /// Forgets the oldest block. If its memory can be used again, returns the block, emptied.
    fn forget_oldest(&mut self) -> Option<Block> {
        let oldest = self.full.pop_front()?;
        self.bytes -= oldest.size();
        // If a dump that is being written still needs the block, it can't be used again.
        let mut block = Arc::into_inner(oldest)?;
        block.bytes.clear();
        // Free the list of spans: the next records in the block may all be events.
        block.spans = Vec::new();
        block.last = None;
        (block.bytes.capacity() == self.block_bytes).then_some(block)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::snapshot::Snapshot;
    use tach_record::frame::MaybeStatic;
    use tach_record::frame::{Frame, Scratch, SpanRecord, Time, Writer};
    use tach_record::ids::SpanContext;
    use tach_record::level::Level;
    use tach_spans::spans::span::{Dropped, first};

    const HEAD: usize = 24;

    /// Returns a record with that number as its message.
    fn record(number: u64, length: usize) -> Vec<u8> {
        let mut scratch = Scratch::new();
        let target = MaybeStatic::Static("app");
        let time = Time::Unix(UnixTime::EPOCH);
        let mut to = Writer::begin(&mut scratch, time, Level::INFO, target);
        to.printed_message(format_args!("{number:>length$}"));
        to.end();
        scratch.written().to_owned()
    }

    fn times(ring: &Ring) -> Vec<u64> {
        let (full, current) = ring.blocks();
        let all = full.iter().map(|block| &**block).chain([&current]);
        let items = all.flat_map(Block::items);
        let time = |item| match item {
            Item::Event(time, record) => {
                let frame = Frame::read(record).unwrap();
                assert_eq!(frame.message.trim_start(), time.as_nanos().to_string());
                time.as_nanos()
            }
            Item::Span(stored) => stored.kept.end.as_nanos(),
        };
        items.map(time).collect()
    }

    fn flood(ring: &mut Ring, numbers: impl Iterator<Item = u64>, length: impl Fn(u64) -> usize) {
        for number in numbers {
            ring.event(&record(number, length(number)), UnixTime::from_nanos(number));
        }
    }

    /// Returns the record of a span.
    pub(crate) fn span_record() -> Vec<u8> {
        let (mut scratch, time) = (Scratch::new(), Time::Unix(UnixTime::EPOCH));
        let context = SpanContext { trace: 1, span: 1, is_sampled: true };
        let record = SpanRecord { context, parent: 0, since: time, age: 0, thread: 0 };
        let texts = ["app", "name"].map(MaybeStatic::Static);
        Writer::begin_span(&mut scratch, Level::INFO, texts, &record).end();
        scratch.written().to_owned()
    }

    pub(crate) fn span(records: &[u8], end: u64) -> Span<'_> {
        Span {
            context: SpanContext { trace: 1, span: end, is_sampled: true },
            start: UnixTime::EPOCH,
            end: UnixTime::from_nanos(end),
            is_unfinished: false,
            first: first(records, &[]).unwrap(),
            records,
            has_values: false,
            is_on_one_thread: true,
            dropped: Dropped::default(),
            redacted: &[],
        }
    }

    #[test]
    fn the_newest_are_kept_within_the_bound() {
        let of_span = span_record();
        let events: Vec<_> = (0..200).map(|number| record(number, 5)).collect();
        for most in [64 * 1024, 1024 * 1024] {
            let mut ring = Ring::new(most, Duration::MAX);
            let flood = allocation_counter::measure(|| {
                for number in 1..=100_000 {
                    ring.event(&events[number % 200], UnixTime::from_nanos(number as u64));
                    if number % 3 == 0 {
                        ring.span(&span(&of_span, number as u64));
                    }
                }
            });
            assert!(flood.bytes_max <= most as u64 + 1024, "{flood:?}, and some for the list");
            let (full, current) = ring.blocks();
            let all = full.iter().map(|block| &**block).chain([&current]);
            let (mut times, mut spans) = (Vec::new(), Vec::new());
            for item in all.flat_map(Block::items) {
                match item {
                    Item::Event(time, _) => times.push(time.as_nanos()),
                    Item::Span(stored) => spans.push(stored.kept.end.as_nanos()),
                }
            }
            assert_eq!((times.last(), spans.last()), (Some(&100_000), Some(&99_999)));
            assert!(times.windows(2).all(|pair| pair[0] + 1 == pair[1]), "none is missing");
            assert!(spans.windows(2).all(|pair| pair[0] + 3 == pair[1]), "none is missing");
            let bytes =
                times.len() * events[0].len() + spans.len() * (of_span.len() + size_of::<Kept>());
            assert!(bytes > most / 4 * 3, "{bytes} of {most} are used");
        }
    }

    /// A long round has more spans than the ring has room for, and they arrive after younger
    /// events.
    #[test]
    fn spans_that_come_late_displace_no_younger_events() {
        let mut ring = Ring::new(256 * 1024, Duration::MAX);
        flood(&mut ring, 10_001..=10_500, |_| 100);
        let record = span_record();
        for end in 1..=10_000 {
            ring.span(&span(&record, end));
        }
        let times = times(&ring);
        assert!((10_001..=10_500).all(|event| times.contains(&event)), "{}", times.len());
        assert!(times.contains(&10_000), "the last span");
    }

    #[test]
    fn the_newest_are_kept_after_the_clock_was_set_back() {
        let mut ring = Ring::new(256 * 1024, Duration::MAX);
        let message = record(1, 100);
        let hour = 3_600_000_000_000;
        for time in (hour..hour + 10_000).chain(1..=10_000) {
            ring.event(&message, UnixTime::from_nanos(time));
        }
        let kept = ring.iter().map(|block| block.items().count());
        let later = ring.iter().filter(|block| block.last < Some(UnixTime::from_nanos(hour)));
        assert_eq!(later.map(|block| block.items().count()).sum::<usize>(), kept.sum::<usize>());
    }

    #[test]
    fn memory_is_used_again() {
        let mut ring = Ring::new(256 * 1024, Duration::MAX);
        let event = record(1, 100 - HEAD);
        let again = |ring: &mut Ring| {
            for number in 0..10_000 {
                ring.event(&event, UnixTime::from_nanos(number));
            }
        };
        again(&mut ring);
        let allocated = allocation_counter::measure(|| again(&mut ring));
        // Each block of 16 KiB takes one allocation, for its reference count.
        assert!(allocated.count_total <= 10_000 / 140, "{allocated:?}");
    }

    #[test]
    fn a_long_record_takes_the_place_of_others_unless_it_is_too_long() {
        let mut ring = Ring::new(64 * 1024, Duration::MAX);
        let length = |number| if number % 100 == 0 { 20 * 1024 } else { 10 };
        flood(&mut ring, 1..=1_000, length);
        assert_eq!(times(&ring).last(), Some(&1_000));
        flood(&mut ring, 1_001..=1_001, |_| 40 * 1024);
        assert_eq!(times(&ring).last(), Some(&1_000));
    }

    #[test]
    fn what_is_too_old_is_forgotten() {
        let mut ring = Ring::new(64 * 1024, Duration::from_nanos(100));
        flood(&mut ring, 1..=1_000, |_| 100);
        let before = times(&ring);
        ring.forget(UnixTime::from_nanos(500));
        assert_eq!(times(&ring), before, "the clock was set back");
        ring.forget(UnixTime::from_nanos(1_050));
        let kept = times(&ring);
        assert!(kept[0] > before[0] && kept[0] <= 950, "{kept:?}");
        ring.forget(UnixTime::from_nanos(1_101));
        assert_eq!((times(&ring), ring.bytes, ring.current.size()), (vec![], 0, 0));
    }

    #[test]
    fn a_dump_lacks_what_is_too_old_in_its_blocks() {
        let mut ring = Ring::new(64 * 1024, Duration::from_nanos(100));
        flood(&mut ring, 1..=50, |_| 10);
        let record = span_record();
        for end in 1..=50 {
            ring.span(&span(&record, end));
        }
        let now = UnixTime::from_nanos(120);
        ring.forget(now);
        assert_eq!(times(&ring).len(), 100);
        let dump = Snapshot::new(&ring, now, Arc::default());
        let (mut events, mut spans) = (Vec::new(), Vec::new());
        for item in dump.items() {
            match item {
                Item::Event(time, _) => events.push(time.as_nanos()),
                Item::Span(stored) => spans.push(stored.kept.end.as_nanos()),
            }
        }
        let expected: Vec<_> = (20..=50).collect();
        assert_eq!((&events, &spans), (&expected, &expected));
    }

    /// While a dump needs the blocks, the ring uses other blocks.
    #[test]
    fn a_dump_has_what_was_kept_when_it_began() {
        let mut ring = Ring::new(64 * 1024, Duration::MAX);
        flood(&mut ring, 1..=1_000, |_| 100);
        let before = times(&ring);
        let (full, current) = ring.blocks();
        flood(&mut ring, 1_001..=3_000, |_| 100);
        let dumped = full.iter().map(|block| block.items().count()).sum::<usize>();
        assert_eq!(dumped + current.items().count(), before.len());
        assert!(times(&ring)[0] > 1_000);
    }
}
