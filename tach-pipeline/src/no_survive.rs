//! In place of the files that outlive the process, without the feature or the platform.

use std::sync::Arc;

use memmap2::MmapRaw;

use crate::frame::places::StaticPlace;
use crate::sync::Switch;

pub(crate) enum Store {}

pub(crate) struct RingMemory {
    pub(crate) memory: MmapRaw,
    pub(crate) part: RingPart,
}

pub(crate) enum RingPart {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(dead_code, reason = "nothing is kept, so nothing is full or busy")]
pub(crate) enum Kept {
    Yes,
    Full,
    Busy,
}

pub(crate) fn keep_text(_: u32, _: &str, _: &Switch) -> Kept {
    Kept::Yes
}

pub(crate) fn keep_place(_: u32, _: StaticPlace, _: &Switch) -> Kept {
    Kept::Yes
}

#[cfg(feature = "tracing")]
pub(crate) fn keep_callsite(
    _: u32,
    _: &'static tracing_core::Metadata<'static>,
    _: &Switch,
) -> Kept {
    Kept::Yes
}

impl Store {
    pub(crate) fn ring(self: &Arc<Self>, _: usize) -> Option<RingMemory> {
        match **self {}
    }

    pub(crate) fn new_queue(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn has_ring(&self, _: usize) -> bool {
        match *self {}
    }

    pub(crate) fn exits(&self) {
        match *self {}
    }

    pub(crate) fn refused(&self) {
        match *self {}
    }

    pub(crate) fn dropped(&self) {
        match *self {}
    }
}

impl RingPart {
    pub(crate) fn number(&self) -> u32 {
        match *self {}
    }

    pub(crate) fn file(&self) -> Arc<Store> {
        match *self {}
    }

    pub(crate) fn belongs_to(&self, _: u64, _: u64, _: (u64, &str)) {
        match *self {}
    }
}
