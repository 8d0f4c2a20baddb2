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
/// All spans of a clock count on one line: Unix time that goes on as time elapses, whatever happens
/// to the wall clock. (A time in which the machine is suspended does not elapse on Linux.) So, for
/// the times that tach reads,
///
/// - The duration of a span is correct.
/// - A span's end and events are not before its start.
/// - If a child starts and ends while its parent is open, its times lie within the parent's, on all
///   threads.
///
/// ## Steps
///
/// If the wall clock is stepped, by a millisecond or more, another line begins. Roots and children
/// of remote parents use it at once. All spans that start ten seconds after the step or later use
/// it. Until then children follow their local parents, so that requests are whole. A span keeps its
/// line as long as it lasts. If that is no longer the current line when it ends, it has the
/// attribute `tach.clock.step_ns`: the nanoseconds that later spans are ahead of it. (Tach notices
/// a step at most a tenth of a second late, or at its next use. The ten seconds count from there.)
///
/// A span from before the step needs no memory to be found by its children, however many there are:
/// a million open spans take 48 bytes each more than the SDK's own. The spans of these ten seconds
/// whose context is asked for are listed by their ids, in 90 bytes each. Those that have ended are
/// removed when the list has 8,192 spans, or twice as many as were open at the last removal: 740 KB
/// stay after a busy step. Children of a local parent that is not clocked take the line from before
/// the step.
///
/// Linux slews its wall clock and its monotonic clock alike. macOS and Windows slew the wall clock
/// alone. There a line also ends when the slews since it began add up to a millisecond, and all of
/// this applies as after a step. At the usual 500 parts in a million this is every two seconds
/// while the clock is slewed. With
/// [`Config::hold_backward_steps`](tach_core::Config::hold_backward_steps), tach's Unix time runs at
/// half its rate until a clock that was set back has caught up. Meanwhile a line ends every two
/// milliseconds, so roots that follow each other may overlap.
///
/// ## Given times
///
/// A time that you give is kept to the nanosecond. So an event that you give may lie outside the
/// span, and an end before the start, as in the SDK. The exceptions are:
///
/// - *After a step:* the wall clock was stepped by more than 50 microseconds since the span's line
///   began. Then a time is moved onto the line if the wall clock showed it at most 10 ms before it
///   is given, or while the span was open and after the step. The moved time keeps its age, to a
///   microsecond, and is not before the start. (By a clock other than the system's, a time of the
///   wall clock's last 10 s becomes the present.)
/// - *Just before the start:* an end at most a minute before a start that tach read becomes that
///   start. The error of the two clocks, or two steps at once, may have made it.
/// - *Within an event:* see [event time](#event-time).
///
/// A given start may be ahead of tach's clock by the error of the two clocks, 50 microseconds at
/// most. Then a child whose start tach reads does not start before it. Such a child may come out
/// shorter by that. No other span is changed. If you give a start that is further in the future,
/// its children start when tach reads their starts, which is before their parent.
///
/// `global::tracer` and `SpanRef` (the span in a `Context`) read the wall clock and give its time,
/// so a step does not bend their spans. Nor those of tracing-opentelemetry, with [an
/// exception](crate#what-can-go-wrong).
///
/// *Not* promised: the treatment of a time that is read and then given more than 10 ms later, if
/// the wall clock is stepped in between. Of 10<sup>6</sup> spans of two busy threads with a step
/// every 0.12 s, about one is off by a step.
///
/// ## Event time
///
/// While an [event time](tach_core::event_time) is current that began at most 10 ms ago, an event
/// that is added without a time has the event time, as the log lines have. So has an event with a
/// time that was read from the wall clock since the event time began, to the error of the two
/// clocks. (Not an event that tracing-opentelemetry keeps until its span is entered. Nor an event
/// of a span from before a step: it has the line's time.)
///
/// # Cost
///
/// One read of tach's clock for the start, each event and the end. A given start costs a read of
/// the wall clock as well. So does another given time, unless it is within a microsecond of the
/// first read. After a step, both cost a second read of tach's clock. A span that is not
/// recording, because it was sampled out or has ended, ignores events and ends without a clock
/// read. No lock, except in the ten seconds after a step, and while a given start is ahead of the
/// clock. No allocation, except for the lists of both, and for the attribute of a span that was
/// open during a step.
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
        // Not each time, because the list has a lock. ORDERING: Relaxed, because a thread that sees
        // the flag late only finds the span listed.
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
