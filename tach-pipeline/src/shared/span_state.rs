//! What callers and the back end share about spans.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, OnceLock};

use tach_core::{Instant, UnixTime};

use super::Shared;
use crate::callsites;
use crate::channel::Channel;
use crate::durations::Collected;
use crate::error::Error;
use crate::flight::{Flight, Snapshot};
use crate::frame::{Time, Wanted};
use crate::ids::{Around, SpanContext};
use crate::progress::check_waiter;
use crate::sync::Switch;
pub(crate) use crate::trace::layers::Keys;
use crate::trace::sampling::{Callers, Sampling};
use crate::trace::w3c::TraceContext;
use crate::trace::{Contexts, current};

/// Numbers pipelines, so that a thread tells their spans apart.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Spans {
    pub(crate) id: u64,
    pub(crate) sampling: Sampling,
    /// Whether spans that are open when the process ends are sent.
    pub(crate) sends_unfinished: bool,
    pub(crate) callers: Callers,
    /// The ids of open spans.
    pub(crate) contexts: Contexts,
    /// Whether records have the ids of spans that have no origin.
    has_own_ids: bool,
    /// `None` if no durations are collected.
    pub(crate) durations: Option<Collected>,
    /// `None` without a flight recorder.
    pub(crate) flight: Option<Arc<Flight>>,
    pub(crate) never_closes: NeverCloses,
}

/// The name of the first span that the registry will never close.
#[derive(Default)]
pub(crate) struct NeverCloses {
    span: OnceLock<Box<str>>,
    is_unreported: Switch,
}

impl NeverCloses {
    /// Sets the name, if none is set yet.
    pub(crate) fn set(&self, span: &str) {
        if self.span.set(span.into()).is_ok() {
            self.is_unreported.on();
        }
    }

    /// Returns the name once.
    pub(crate) fn take(&self) -> Option<&str> {
        let span = self.span.get()?;
        (self.is_unreported.is_on() && self.is_unreported.off()).then_some(span)
    }
}

impl Spans {
    pub(crate) fn new(wanted: Wanted) -> Self {
        // ORDERING: Relaxed: each number is given once, and publishes nothing.
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        callsites::set_up();
        Self {
            id,
            sampling: Sampling::default(),
            sends_unfinished: false,
            callers: Callers::default(),
            contexts: Contexts::new(id, wanted.are_spans()),
            has_own_ids: wanted.has_own_ids(),
            durations: None,
            flight: None,
            never_closes: NeverCloses::default(),
        }
    }

    /// Waits for the files that the flight recorder began. Returns `false` if that takes longer
    /// than `timeout`.
    pub(super) fn wait_for_files(&self, timeout: Duration) -> bool {
        self.flight.as_ref().is_none_or(|flight| flight.writing.wait(timeout))
    }

    /// Returns the ids of the span that the thread is in, if it has any.
    #[inline]
    pub(crate) fn current_span(&self) -> Option<SpanContext> {
        if self.contexts.are_unused() {
            return None;
        }
        current::get(&self.contexts).map(|(_, context)| context)
    }

    /// Returns the span of another process whose context the span with that id passes on.
    #[inline(never)]
    pub(crate) fn origin_of(&self, span: u64) -> Option<TraceContext> {
        self.contexts.find(span).and_then(|(span, _)| span.origin())
    }

    /// Returns the pipeline's span as the one around a record. If nobody takes spans, the span of
    /// another process is around the record, whose context is passed on.
    #[inline]
    pub(crate) fn as_around(&self, own: SpanContext) -> Around {
        let origin = if self.has_own_ids { None } else { self.origin_of(own.span) };
        origin.map_or(Around { context: own, is_own: true }, |origin| Around {
            context: origin.context(),
            is_own: false,
        })
    }

    /// Returns the span around a record in the pipeline's span `own`: the current one of
    /// `opentelemetry` if it is within `own`, unless it is the span of a caller that is not trusted.
    #[inline]
    pub(crate) fn nearest(&self, own: Option<SpanContext>) -> Option<Around> {
        let span = own.map(|own| own.span);
        // Not `or_else`: the compiler calls it.
        match self.contexts.around(span, self.callers.are_trusted()) {
            None => own.map(|own| self.as_around(own)),
            attached => attached,
        }
    }

    /// Returns the span around a record that the thread logs.
    #[inline]
    pub(crate) fn around(&self) -> Option<Around> {
        self.nearest(self.current_span())
    }

    /// Requests a search for spans whose end record was dropped. Call after their ids are removed.
    #[cold]
    pub(crate) fn lose_end(contexts: &Contexts, channel: &Channel) {
        contexts.lose_end();
        if !channel.is_forked() {
            channel.wake();
        }
    }

    /// Returns the content of the flight recorder: everything that was recorded before.
    pub(crate) fn snapshot(
        &self,
        channel: &Channel,
        timeout: Duration,
    ) -> Result<Arc<Snapshot>, Error> {
        let Some(flight) = &self.flight else { return Err(Error::no_recorder()) };
        check_waiter(channel)?;
        flight.requests.wait(timeout, || channel.wake())
    }
}

impl Shared {
    /// Returns the time that [`clock_time`](Self::clock_time) returned, by its number.
    #[inline]
    pub(crate) fn time_of(&self, number: u64) -> Time {
        match &self.clock {
            None => Time::Ticks(Instant::from_ticks(number)),
            Some(_) => Time::Unix(UnixTime::from_nanos(number)),
        }
    }
}
