//! Wrapped spans.

use std::borrow::Cow;
use std::time::SystemTime;

use opentelemetry::trace::{Span, SpanBuilder, SpanContext, Status, Tracer};
use opentelemetry::{Context, KeyValue};
use tach_core::{Clock, SystemClock, UnixTime};

use crate::age::age_beside_ns;
use crate::trace_anchor::TraceAnchor;
use crate::{Clocked, Incoming};

/// A span of a [`Clocked`](crate::Clocked) tracer, whose times come from tach's clock.
///
/// Dropping it ends it.
///
/// # Guarantees
///
/// The first local span of a trace reads tach's Unix time once and keeps it in an
/// [`Anchor`](tach_core::Anchor). All later times of the trace are the anchor plus elapsed time.
/// However the wall clock is set:
///
/// - The duration of a span is correct.
/// - A span's end and events are not before its start.
/// - A child that starts and ends within its parent does so in its times, on all threads.
///
/// Each span counts from its own start, so its times may be early by one step of `SystemTime` (1
/// ns, on Windows 100 ns) for each of its ancestors. [`Incoming`] has the guarantees for given
/// times.
///
/// A child finds the anchor in a table by its parent's ids. The parent stays in the table while it
/// is active, and afterwards until its slot is reused. *Not* promised: that the child finds the
/// anchor while more than about 1,000 parents are active. A child that doesn't find it takes an
/// anchor of its own, and agrees with its parent unless the wall clock was set between their
/// starts. The same applies to the child of another clock's span, and of a remote span unless that
/// is an active span of this process.
///
/// A span that is not recording, because it was sampled out or has ended, ignores events and ends
/// without a clock read.
///
/// # Cost
///
/// One read of tach's clock for each event and for the end; [`Incoming`] has the cost of given
/// times. No allocation, no lock. The first request for the span's context, which precedes its
/// children, writes to the table.
///
/// # Examples
///
/// ```
/// use opentelemetry::trace::{Span, Tracer, TracerProvider};
/// use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
/// use tach_otel::Clocked;
///
/// let exporter = InMemorySpanExporter::default();
/// let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
/// let tracer = Clocked::new(provider).tracer("checkout");
///
/// let mut span = tracer.start("pay");
/// span.add_event("authorised", vec![]);
/// drop(span);
///
/// let span = &exporter.get_finished_spans().unwrap()[0];
/// let event = &span.events[0];
/// assert!(span.start_time <= event.timestamp && event.timestamp <= span.end_time);
/// ```
#[derive(Debug)]
pub struct ClockedSpan<S: Span, C: Clock = SystemClock> {
    inner: S,
    clock: C,
    anchor: TraceAnchor,
    start: SystemTime,
    incoming: Incoming,
    has_events: bool,
    has_ended: bool,
}

impl<S: Span, C: Clock> ClockedSpan<S, C> {
    /// Starts a span now: `make` creates the wrapped span with that time.
    #[inline]
    pub(crate) fn start_now<T>(
        tracer: &Clocked<T, C>,
        parent: &Context,
        make: impl FnOnce(SystemTime) -> S,
    ) -> Self
    where
        C: Clone,
    {
        let clock = tracer.clock.clone();
        let anchor = TraceAnchor::find(&clock, tracer.clock_id, parent, || clock.early_now());
        let start = anchor.start();
        Self::new(tracer, clock, anchor, start, false, make)
    }

    /// Starts a span from `builder`, and replaces its times.
    pub(crate) fn start<T>(
        tracer: &Clocked<T, C>,
        mut builder: SpanBuilder,
        parent: &Context,
    ) -> Self
    where
        T: Tracer<Span = S>,
        C: Clone,
    {
        let (clock, id, incoming) = (tracer.clock.clone(), tracer.clock_id, tracer.incoming);
        let has_events = builder.events.is_some();
        let mut given = None;
        let anchor = TraceAnchor::find(&clock, id, parent, || match builder.start_time {
            Some(time) => {
                let (now, age_ns) = incoming.age(&clock, time);
                given = Some((time, age_ns));
                now
            }
            // The times of the events must not precede times that were published before.
            None if has_events => clock.monotonic_now().into(),
            None => clock.early_now(),
        });
        let start = match (incoming, given) {
            (Incoming::Keep, Some((time, _))) => time,
            (_, Some((_, age_ns))) => anchor.before_start(age_ns),
            (_, None) => anchor.start(),
        };
        if has_events {
            settle_events(&mut builder, incoming, given, &anchor, start);
        }
        Self::new(tracer, clock, anchor, start, has_events, |start| {
            builder.start_time = Some(start);
            tracer.inner.build_with_context(builder, parent)
        })
    }

    #[inline]
    fn new<T>(
        tracer: &Clocked<T, C>,
        clock: C,
        anchor: TraceAnchor,
        start: SystemTime,
        has_events: bool,
        make: impl FnOnce(SystemTime) -> S,
    ) -> Self {
        // One expression, so that the wrapped span of 300 bytes is created in its place.
        Self {
            inner: make(start),
            clock,
            anchor,
            start,
            incoming: tracer.incoming,
            has_events,
            has_ended: false,
        }
    }

    /// Returns `time`, or the start if that is later. (A start that was kept may lie in the
    /// future.)
    fn not_before_start(&self, time: SystemTime) -> SystemTime {
        time.max(self.start)
    }

    fn end_at(&mut self, time: SystemTime) {
        self.has_ended = true;
        self.inner.end_with_timestamp(time);
        self.anchor.release();
    }

    /// Returns the time to record for `given`.
    fn settled(&self, given: SystemTime) -> SystemTime {
        if self.incoming == Incoming::Keep {
            return given;
        }
        let (now, age_ns) = self.incoming.age(&self.clock, given);
        self.not_before_start(self.anchor.time_before(&self.clock, now, age_ns))
    }
}

/// Replaces the times of the events in `builder`. `given` is the start that the caller gave, and
/// its age in nanoseconds.
#[cold]
fn settle_events(
    builder: &mut SpanBuilder,
    incoming: Incoming,
    given: Option<(SystemTime, u64)>,
    anchor: &TraceAnchor,
    start: SystemTime,
) {
    for event in builder.events.iter_mut().flatten() {
        let age_ns = match (incoming, given) {
            (Incoming::Keep, _) => return,
            (Incoming::Rebase, Some((given, age_ns))) => {
                let [given, event] = [given, event.timestamp].map(UnixTime::from_system_time);
                age_beside_ns(given, age_ns, event)
            }
            // The span starts now, so its events are not earlier.
            _ => 0,
        };
        event.timestamp = anchor.before_start(age_ns).max(start);
    }
}

/// Passes calls without a time on, except `record_error`: the trait's default calls `add_event`,
/// and the wrapped span's would read the wall clock.
impl<S: Span, C: Clock> Span for ClockedSpan<S, C> {
    fn add_event<T>(&mut self, name: T, attributes: Vec<KeyValue>)
    where
        T: Into<Cow<'static, str>>,
    {
        if self.inner.is_recording() {
            let now = self.not_before_start(self.anchor.now(&self.clock));
            self.has_events = true;
            self.inner.add_event_with_timestamp(name, now, attributes);
        }
    }

    fn add_event_with_timestamp<T>(
        &mut self,
        name: T,
        timestamp: SystemTime,
        attributes: Vec<KeyValue>,
    ) where
        T: Into<Cow<'static, str>>,
    {
        if self.inner.is_recording() {
            let settled = self.settled(timestamp);
            self.has_events = true;
            self.inner.add_event_with_timestamp(name, settled, attributes);
        }
    }

    /// Puts the anchor into the table: a child needs this context before it can start. A span that
    /// the sampler dropped only passes a shared anchor on.
    fn span_context(&self) -> &SpanContext {
        let context = self.inner.span_context();
        if self.has_ended {
            self.anchor.remember_late(context);
        } else {
            // Without an SDK a span has its parent's ids, and must not replace the parent's anchor.
            let is_recording = self.inner.is_recording();
            if is_recording || self.anchor.is_shared() {
                self.anchor.remember(context, is_recording);
            }
        }
        context
    }

    fn is_recording(&self) -> bool {
        self.inner.is_recording()
    }

    fn set_attribute(&mut self, attribute: KeyValue) {
        self.inner.set_attribute(attribute);
    }

    fn set_attributes(&mut self, attributes: impl IntoIterator<Item = KeyValue>) {
        self.inner.set_attributes(attributes);
    }

    fn set_status(&mut self, status: Status) {
        self.inner.set_status(status);
    }

    fn update_name<T>(&mut self, new_name: T)
    where
        T: Into<Cow<'static, str>>,
    {
        self.inner.update_name(new_name);
    }

    fn add_link(&mut self, span_context: SpanContext, attributes: Vec<KeyValue>) {
        self.inner.add_link(span_context, attributes);
    }

    /// Reads the clock early if the span has published no time that the end must not precede.
    fn end(&mut self) {
        if self.inner.is_recording() {
            let now = if self.has_events || self.anchor.is_remembered() {
                self.anchor.now(&self.clock)
            } else {
                self.anchor.early_now(&self.clock)
            };
            self.end_at(self.not_before_start(now));
        }
    }

    fn end_with_timestamp(&mut self, timestamp: SystemTime) {
        if self.inner.is_recording() {
            let settled = self.settled(timestamp);
            self.end_at(settled);
        }
    }
}

impl<S: Span, C: Clock> Drop for ClockedSpan<S, C> {
    /// Ends the span with a time: the wrapped span's own drop would read the wall clock.
    fn drop(&mut self) {
        if !self.has_ended {
            self.end();
            self.anchor.release();
        }
    }
}
