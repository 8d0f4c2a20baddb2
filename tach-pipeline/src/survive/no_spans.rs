//! In place of the spans of processes, in a build without spans.
#![expect(clippy::unused_self, reason = "the calls are those of the room in whose place it is")]

use tach_core::UnixTime;

use super::image::Image;

pub(crate) enum SpanLeft {}

pub(super) fn most(_: &Image<'_>) -> usize {
    0
}

pub(super) struct Assembly {
    pub(super) cut: u64,
}

impl Assembly {
    pub(super) fn new(_: &Image<'_>, _: &mut usize) -> Self {
        Self { cut: 0 }
    }

    pub(super) fn record(&mut self, _: &[u8], _: u64) {}

    pub(super) fn finish(self, _: bool) -> Vec<SpanLeft> {
        Vec::new()
    }
}

pub(crate) struct Recording;

impl Recording {
    pub(super) fn new(_: &Image<'_>, _: &mut usize, _: &mut u64) -> Self {
        Self
    }

    pub(super) fn len(&self) -> u64 {
        0
    }
}
