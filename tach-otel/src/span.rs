//! Spans, wrapped.

use std::borrow::Cow;
use std::time::SystemTime;

use opentelemetry::trace::{Span, SpanBuilder, SpanContext, Status, Tracer};
use opentelemetry::{Context, KeyValue};
use tach_core::{Clock, SystemClock, UnixTime};

use crate::age::age_beside_ns;
use crate::trace_anchor::TraceAnchor;
use crate::{Clocked, Incoming};

/// A span that starts, ends and notes events by tach's clock.
///
/// [`Clocked`](crate::Clocked) tracers start it. Dropping it ends it.
///
/// # Guarantees
///
/// Tach's idea of Unix time is taken once for a trace, when its first local span starts, and fixed in an
/// [`Anchor`](tach_core::Anchor). Every later time in the trace is that plus elapsed time, so no step of the
/// wall clock can bend a duration; neither an end nor an event precedes its span's start; and a child
/// that starts and ends within its parent does so in its times, on whichever threads. Each span counts from its
/// own start, so a span's times may be a nanosecond early for each of its ancestors (100 ns on Windows). For times
/// that callers give, [`Incoming`] says more.
///
/// A child finds the anchor by the ids of its parent: while that goes on, and after that until its place in
/// a table is needed. *Not* promised: that it finds it when more than about 1,000 parents go on at once. It then takes
/// an anchor of its own, and lines up with its parent as far as the wall clock was not stepped since. The
/// same holds between processes, and between the spans of two clocks. What a remote span has started here
/// lines up with the rest of its trace as far as that: only with a remote parent that is a span of this
/// process after all, and goes on, is an anchor shared.
///
/// A span that is not recording, be it sampled out or ended, ignores events and ends without a look
/// at the clock.
///
/// # Cost
///
/// One read of tach's clock for each event and for the end, and for a time that is given what [`Incoming`]
/// says. No allocation, no lock. Once its context is asked for, as by whoever makes it a parent, it is noted
/// in a table.
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
    /// A span that starts now, made by `make` with that time.
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

    /// Puts times into `builder`, and has the wrapped tracer make the span of it.
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
            // What becomes of an event must not precede what was told before.
            None if has_events => clock.monotonic_now().as_unordered(),
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
        // As an expression, so that the wrapped span is made where it stays: it has 300 bytes.
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

    /// `time`, but not before the start: of what is older that is told, as where a start was kept that lies ahead.
    fn not_before_start(&self, time: SystemTime) -> SystemTime {
        time.max(self.start)
    }

    fn end_at(&mut self, time: SystemTime) {
        self.has_ended = true;
        self.inner.end_with_timestamp(time);
        self.anchor.release();
    }

    /// The time to record for the one `given`.
    fn settled(&self, given: SystemTime) -> SystemTime {
        if self.incoming == Incoming::Keep {
            return given;
        }
        let (now, age_ns) = self.incoming.age(&self.clock, given);
        self.not_before_start(self.anchor.time_before(&self.clock, now, age_ns))
    }
}

/// Settles the times of the events in `builder`, whose span starts at `start`: which was `given`, and is as old.
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
            // They can't precede a start that is now.
            _ => 0,
        };
        event.timestamp = anchor.before_start(age_ns).max(start);
    }
}

/// What has no time is passed on. `record_error` is not: the trait's own ends in `add_event`, and
/// the wrapped span's would read the wall clock.
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

    /// Who becomes this span's child has asked for this, so the anchor need not be remembered before. A
    /// span that the sampler drops passes on what it shares, and has nothing to give by itself.
    fn span_context(&self) -> &SpanContext {
        let context = self.inner.span_context();
        if self.has_ended {
            self.anchor.remember_late(context);
        } else {
            // Without an SDK a span has the ids of its parent, whose anchor it must leave alone.
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

    /// The read may be early if nothing has been told that the end must not precede.
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
    /// Ends the span while it can still be given the time: the wrapped span's own drop would read
    /// the wall clock.
    fn drop(&mut self) {
        if !self.has_ended {
            self.end();
            self.anchor.release();
        }
    }
}
