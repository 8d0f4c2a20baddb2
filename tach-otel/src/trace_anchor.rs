//! One anchor a trace: the spans of a trace find the one that its first local span has taken.

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt, TraceId};
use tach_core::{Anchor, Clock, Instant, UnixTime};

use crate::clock_id::ClockId;
use crate::table::{Place, Table};

/// 4096 traces. They are 128 KiB that the OS provides as they are touched.
static ANCHORS: Table<1024> = Table::new();

/// The trace's anchor as a span that is about to start finds it.
#[derive(Debug)]
pub(crate) enum TraceAnchor {
    /// A span of the trace has taken it before.
    Shared(Anchor),
    /// Taken just now; to be remembered once the span and its trace are known.
    New(Anchor),
}

impl TraceAnchor {
    /// That of the parent's trace: always if the parent is a local span; if it is a remote one, only
    /// while a local span of the trace goes on, since there is nothing else to agree with.
    #[inline]
    pub(crate) fn find(clock: &impl Clock, id: ClockId, parent: &Context) -> Self {
        let found = if parent.has_active_span() {
            of_parent(id, parent.span().span_context())
        } else {
            None
        };
        found.map_or_else(|| Self::New(Anchor::with_clock(clock)), Self::Shared)
    }

    #[inline]
    pub(crate) fn anchor(&self) -> Anchor {
        match self {
            Self::Shared(anchor) | Self::New(anchor) => *anchor,
        }
    }

    /// Lets the spans to come of `trace` find the anchor.
    #[inline]
    pub(crate) fn remember(&self, id: ClockId, trace: TraceId) -> Held {
        match self {
            Self::Shared(_) => Held(None),
            Self::New(anchor) => {
                let words = [anchor.instant().as_ticks(), anchor.time().as_nanos()];
                Held(ANCHORS.put(id.key(trace.to_bytes()), words))
            }
        }
    }
}

/// The anchor that is remembered for `trace`.
#[cfg(feature = "sdk")]
pub(crate) fn known(id: ClockId, trace: TraceId) -> Option<Anchor> {
    Some(located(id, trace)?.1)
}

/// The local root of `trace` is over. The anchor is still found until its place is needed.
#[cfg(feature = "sdk")]
pub(crate) fn release(id: ClockId, trace: TraceId) {
    if let Some((place, anchor)) = located(id, trace) {
        Held(Some(place)).release(&anchor);
    }
}

#[inline]
fn located(id: ClockId, trace: TraceId) -> Option<(Place, Anchor)> {
    let (place, [tick, time_ns]) = ANCHORS.find(id.key(trace.to_bytes()))?;
    Some((place, Anchor::new(Instant::from_ticks(tick), UnixTime::from_nanos(time_ns))))
}

#[inline]
fn of_parent(id: ClockId, parent: &SpanContext) -> Option<Anchor> {
    let (place, anchor) = located(id, parent.trace_id())?;
    (!parent.is_remote() || ANCHORS.is_in_use(place)).then_some(anchor)
}

/// What the span that has taken a trace's anchor holds on to.
#[derive(Debug)]
pub(crate) struct Held(Option<Place>);

impl Held {
    /// What a span holds that has not taken the anchor.
    pub(crate) const NOTHING: Self = Self(None);

    /// The span is over. The anchor is still found until its place is needed.
    #[inline]
    pub(crate) fn release(&mut self, anchor: &Anchor) {
        if let Some(place) = self.0.take() {
            ANCHORS.release(place, anchor.instant().as_ticks());
        }
    }
}
