//! The content of a dump: the last spans and events, and the spans that are open.

use std::sync::Arc;

use tach_core::UnixTime;

use super::ring::{Block, Item, Ring};
use crate::trace::span::Span;

pub(crate) struct Snapshot {
    full: Vec<Arc<Block>>,
    /// The newest spans and events, and those spans that are open.
    last: Block,
    /// When it was made.
    at: UnixTime,
    /// The time before which everything is too old.
    since: Option<UnixTime>,
    redacted: Arc<[String]>,
}

impl Snapshot {
    /// Creates one from `ring`. The spans that wait to be passed on, and those that are open, are
    /// added next.
    pub(crate) fn new(ring: &Ring, now: UnixTime, redacted: Arc<[String]>) -> Self {
        let (full, last) = ring.blocks();
        Self { full, last, at: now, since: ring.since(now), redacted }
    }

    pub(crate) fn add(&mut self, span: &Span<'_>) {
        self.last.add_span(span);
    }

    /// Returns when it was made.
    pub(super) fn time(&self) -> UnixTime {
        self.at
    }

    /// Returns the spans and the events.
    pub(super) fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let blocks = self.full.iter().map(|block| &**block).chain([&self.last]);
        let items = blocks.flat_map(|block| block.items(&self.redacted));
        items.filter(|item| {
            let end = match item {
                Item::Event(time, _) => *time,
                Item::Span(span) => span.end,
            };
            self.since.is_none_or(|since| end >= since)
        })
    }

    /// Returns the keys whose values are not shown.
    pub(super) fn redacted(&self) -> &[String] {
        &self.redacted
    }
}
