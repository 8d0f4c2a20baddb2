//! The content of a dump: the last spans and events, and the spans that are open.

use core::time::Duration;
use std::sync::Arc;

use tach_core::UnixTime;

use crate::ring::{Block, Item, Ring};
use tach_spans::spans::span::Span;

/// The content of a dump.
pub struct Snapshot {
    full: Vec<Arc<Block>>,
    /// The newest spans and events, copied from the block that is being filled.
    last: Block,
    /// The spans that wait to be passed on, and those that are open.
    waiting: Ring,
    /// When the snapshot was made.
    at: UnixTime,
    /// The time before which events and spans are too old.
    since: Option<UnixTime>,
    /// The keys of fields whose values are hidden.
    pub(crate) redacted: Arc<[String]>,
}

impl Snapshot {
    /// Creates a snapshot of the ring. Call [`add`](Self::add) next for each span that is open or
    /// waits to be passed on.
    pub(crate) fn new(ring: &Ring, now: UnixTime, redacted: Arc<[String]>) -> Self {
        let (full, last) = ring.blocks();
        let (waiting, since) = (Ring::new(ring.most(), Duration::MAX), ring.since(now));
        Self { full, last, waiting, at: now, since, redacted }
    }

    /// Adds a span. All added spans together may take as much memory as the ring. If they need
    /// more, the spans that ended first are forgotten.
    pub(crate) fn add(&mut self, span: &Span<'_>) {
        let _is_too_long = self.waiting.span(span);
    }

    /// Returns when the snapshot was made.
    pub(crate) fn time(&self) -> UnixTime {
        self.at
    }

    /// Returns the spans and the events.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let blocks = self.full.iter().map(|block| &**block).chain([&self.last]);
        blocks.chain(self.waiting.iter()).flat_map(Block::items).filter(|item| {
            let end = match item {
                Item::Event(time, _) => *time,
                Item::Span(stored) => stored.kept.end,
            };
            self.since.is_none_or(|since| end >= since)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::tests::{span, span_record};

    const MOST: usize = 64 * 1024;

    #[test]
    fn open_spans_have_a_bound_of_their_own() {
        let mut ring = Ring::new(MOST, Duration::MAX);
        let record = span_record();
        let mut span = span(&record, 0);
        ring.span(&span);
        let mut snapshot = Snapshot::new(&ring, UnixTime::EPOCH, Arc::default());
        span.is_unfinished = true;
        let added = allocation_counter::measure(|| (0..100_000).for_each(|_| snapshot.add(&span)));
        assert!(added.bytes_max <= MOST as u64 + 1024, "{added:?}, and some for the list");
        let is_open =
            |item: &Item<'_>| matches!(item, Item::Span(stored) if stored.kept.is_unfinished);
        let (open, kept): (Vec<_>, Vec<_>) = snapshot.items().partition(is_open);
        assert_eq!(kept.len(), 1, "open spans take no room of others");
        assert!((100..1_000).contains(&open.len()), "{}", open.len());
    }
}
