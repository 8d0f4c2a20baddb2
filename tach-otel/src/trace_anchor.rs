//! One anchor a trace: the spans of a trace find the one that its first local span has taken.

use core::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt, TraceId};
use tach_core::{Anchor, Clock, Instant, UnixTime};

use crate::clock_id::ClockId;
use crate::table::{Slot, Table};

/// 256 traces: 8 KiB, which stay in the nearest cache.
static NEAR: Table<64> = Table::new();

/// 16,384 traces, for a process that has more at once. The OS provides these 512 KiB as they are touched.
static FAR: Table<4096> = Table::new();

/// The anchor of a span's trace.
#[derive(Debug)]
pub(crate) struct TraceAnchor {
    anchor: Anchor,
    id: ClockId,
    /// Taken by this span, so that it is for this span to let others find it.
    is_new: bool,
    is_remembered: AtomicBool,
}

impl TraceAnchor {
    /// That of the parent's trace, for a span that is about to start: always if the parent is a local
    /// span; if it is a remote one, only while a local span of the trace goes on, since there is nothing
    /// else to agree with. A new one if there is none.
    #[inline]
    pub(crate) fn find(clock: &impl Clock, id: ClockId, parent: &Context) -> Self {
        let shared = if parent.has_active_span() {
            of_parent(id, parent.span().span_context())
        } else {
            None
        };
        let anchor = shared.unwrap_or_else(|| Anchor::with_clock(clock));
        Self { anchor, id, is_new: shared.is_none(), is_remembered: AtomicBool::new(false) }
    }

    #[cfg(feature = "sdk")]
    pub(crate) fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// When the span starts: the anchor's own time if the span has taken it.
    #[inline]
    pub(crate) fn start(&self, clock: &impl Clock) -> SystemTime {
        if self.is_new { self.anchor.time().to_system_time() } else { self.now(clock) }
    }

    /// The time that the anchor gives to this moment.
    #[inline]
    pub(crate) fn now(&self, clock: &impl Clock) -> SystemTime {
        self.anchor.unix_time_by(clock, clock.monotonic_now()).to_system_time()
    }

    /// Lets the spans to come of `trace` find the anchor.
    #[inline]
    pub(crate) fn remember(&self, trace: TraceId) {
        if self.is_new {
            let words = [self.anchor.instant().as_ticks(), self.anchor.time().as_nanos()];
            let key = self.id.key(trace.to_bytes());
            if NEAR.put(key, words).is_none() {
                put_far(key, words);
            }
            // ORDERING: Relaxed, since whoever ends the span has it to itself by then.
            self.is_remembered.store(true, Ordering::Relaxed);
        }
    }

    /// The span is over. The anchor is still found until its slot is needed.
    #[inline]
    pub(crate) fn release(&mut self, trace: impl FnOnce() -> TraceId) {
        if *self.is_remembered.get_mut() {
            release(self.id, trace());
        }
    }
}

/// The anchor that is remembered for `trace`.
#[cfg(feature = "sdk")]
pub(crate) fn known(id: ClockId, trace: TraceId) -> Option<Anchor> {
    Some(located(id, trace)?.1)
}

/// The local root of `trace` is over. The anchor is still found until its slot is needed.
#[inline(never)]
pub(crate) fn release(id: ClockId, trace: TraceId) {
    if let Some((slot, anchor)) = located(id, trace) {
        slot.release(anchor.instant().as_ticks());
    }
}

#[inline]
fn located(id: ClockId, trace: TraceId) -> Option<(&'static Slot, Anchor)> {
    let key = id.key(trace.to_bytes());
    let (slot, [tick, time_ns]) = NEAR.find(key).or_else(|| find_far(key))?;
    Some((slot, Anchor::new(Instant::from_ticks(tick), UnixTime::from_nanos(time_ns))))
}

#[inline]
fn of_parent(id: ClockId, parent: &SpanContext) -> Option<Anchor> {
    let (slot, anchor) = located(id, parent.trace_id())?;
    (!parent.is_remote() || slot.is_in_use()).then_some(anchor)
}

#[cold]
fn put_far(key: u64, words: [u64; 2]) {
    FAR.force(key, words);
}

#[cold]
fn find_far(key: u64) -> Option<(&'static Slot, [u64; 2])> {
    FAR.find(key)
}
