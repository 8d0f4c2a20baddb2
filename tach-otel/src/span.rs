//! Wrapped spans.

mod near_step;
mod start;
mod times;

use core::sync::atomic::{AtomicBool, Ordering};
use std::borrow::Cow;
use std::time::SystemTime;

use opentelemetry::KeyValue;
use opentelemetry::trace::{Span, SpanContext, Status};
use tach_core::{Clock, SystemClock};

use crate::line::Line;
use crate::lines::Lines;

pub(crate) use self::start::Start;

/// A span of a [`Clocked`](crate::Clocked) tracer, whose times come from tach's clock.
///
/// Dropping it ends it.
///
/// # Guarantees
///
/// For the times that tach reads, whatever happens to the wall clock:
///
/// - The duration of a span is correct. (A time in which the machine is suspended does not elapse
///   on Linux.)
/// - A span's end and events are not before its start.
/// - If a child starts and ends while its parent is open, its times lie within the parent's, on all
///   threads.
///
/// ## Steps
///
/// If the wall clock is stepped by a millisecond or more, or slews add up to that apart from the
/// monotonic clock, roots and children of remote parents use the new time at once. Children of
/// local parents keep the old one for ten seconds more, so that requests are whole. A span keeps
/// its time as long as it lasts. If that is no longer the current one when it ends, the attribute
/// `tach.clock.step_ns` says how far later spans are ahead of it.
///
/// ## Given times
///
/// A time that you give is kept to the nanosecond, as in the SDK: an event may lie outside the
/// span. Only around a step, and within the error of the two clocks, a given time is moved to the
/// span's line or its start. A child of a span with a given start in the future starts when tach
/// reads its start.
///
/// *Not* promised: the treatment of a time that is given more than 10 ms after it was read, if the
/// wall clock is stepped in between.
///
/// While an [event time](tach_core::event_time) is current that began at most 10 ms ago, an event
/// without a time has the event time, as log lines have.
///
/// # Cost
///
/// One read of tach's clock for the start, each event and the end, and for a given time a read of
/// the wall clock too. A span that does not record ignores events and ends without a read. There is
/// no lock and no allocation, except in the ten seconds after a step, and while a given start is
/// ahead of the clock.
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
    lines: Lines,
    line: Line,
    start: SystemTime,
    /// The elapsed time at which the span was created.
    began_ns: u64,
    /// Whether the span is listed, and must be marked when it ends.
    is_listed: AtomicBool,
    /// Whether the span started while children follow their parents.
    is_near_step: bool,
    /// Whether the span has published a time that its end must not precede.
    is_seen: AtomicBool,
    /// Whether the caller chose the start.
    is_start_given: bool,
    has_ended: bool,
}

impl<S: Span, C: Clock> ClockedSpan<S, C> {
    /// Adds an event that tach read at `now`, or that has the event time.
    #[inline]
    fn add_event_now(
        &mut self,
        name: Cow<'static, str>,
        now: SystemTime,
        attributes: Vec<KeyValue>,
    ) {
        *self.is_seen.get_mut() = true;
        let time = self.event_time(now).unwrap_or(now);
        self.inner.add_event_with_timestamp(name, time, attributes);
    }

    #[inline]
    fn end_at(&mut self, time: SystemTime) {
        self.has_ended = true;
        let current = self.lines.current();
        if current != self.line {
            self.tell_step(current);
        }
        self.inner.end_with_timestamp(time);
        self.unlist();
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
            self.add_event_now(name.into(), self.now(), attributes);
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
            let instant = self.clock.early_now();
            if let Some(time) = self.moved(timestamp, instant) {
                self.add_event_now(name.into(), time, attributes);
            } else {
                *self.is_seen.get_mut() = true;
                let time = self.event_time_of(timestamp, instant).unwrap_or(timestamp);
                self.inner.add_event_with_timestamp(name, time, attributes);
            }
        }
    }

    /// The context shows the start to children, and they need the context before they can start.
    #[inline]
    fn span_context(&self) -> &SpanContext {
        // ORDERING: Relaxed, because `end` has exclusive access.
        self.is_seen.store(true, Ordering::Relaxed);
        let context = self.inner.span_context();
        // List the span only once, because the list has a lock.
        // ORDERING: Relaxed, because a thread that sees the flag late only finds the span listed.
        if self.is_near_step && !self.is_listed.load(Ordering::Relaxed) {
            self.list(context);
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
            let is_seen = *self.is_seen.get_mut();
            let time = if is_seen { self.now() } else { self.time_at(self.clock.early_now()) };
            self.end_at(time);
        }
    }

    fn end_with_timestamp(&mut self, timestamp: SystemTime) {
        if self.inner.is_recording() {
            let moved = self.moved(timestamp, self.clock.early_now());
            let time = moved.unwrap_or_else(|| self.kept_end(timestamp));
            self.end_at(time);
        }
    }
}

impl<S: Span, C: Clock> Drop for ClockedSpan<S, C> {
    /// Ends the span with a time: the wrapped span's own drop would read the wall clock.
    fn drop(&mut self) {
        if !self.has_ended {
            self.end();
            self.unlist();
        }
    }
}
