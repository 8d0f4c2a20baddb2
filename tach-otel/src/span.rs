//! Wrapped spans.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::borrow::Cow;
use std::time::SystemTime;

use opentelemetry::trace::{Span, SpanBuilder, SpanContext, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};
use tach_core::{Anchor, Clock, Instant, SystemClock, UnixTime, adapter, event_time};

use crate::clocked::Clocked;
use crate::given::{self, MOMENT_NS, Present, system_time};
use crate::line::Line;
use crate::lines::Lines;
use crate::table::Entry;

/// A span of a [`Clocked`](crate::Clocked) tracer, whose times come from tach's clock.
///
/// Dropping it ends it.
///
/// # Guarantees
///
/// All spans of a clock count on one line: Unix time that goes on as time elapses, whatever happens
/// to the wall clock. (A time in which the machine is suspended does not elapse on Linux.) So
///
/// - The duration of a span is correct.
/// - A span's end and events are not before its start.
/// - If a child starts and ends while its parent is open, its times lie within the parent's, on all
///   threads.
///
/// ## Steps
///
/// If the wall clock is stepped, by a millisecond or more, another line begins. Roots and children
/// of remote parents use it at once. All spans that start ten seconds later or more use it. Until
/// then children follow their local parents, so that requests are whole. A span keeps its line as
/// long as it lasts. If that is no longer the current line when it ends, it has the attribute
/// `tach.clock.step_ns`: the nanoseconds that later spans are ahead of it. (Tach notices a step
/// at most a tenth of a second late.)
///
/// A span from before the step needs no memory to be found by its children, however many there are:
/// a million open spans take 48 bytes each more than the SDK's own, and none is forgotten.
/// The parents of these ten seconds are found by their ids in a table of 256 KiB, which is
/// allocated at the first step. Measured, it forgets 1 of 3,000 parents if 1,000 are active, 3 % if
/// 4,000 are, and 19 % if 8,000 are. The children of a forgotten one take the line from before the
/// step. So do children of a local parent that is not clocked.
///
/// Steps that are less than ten seconds apart are one series: ten seconds after the first of them,
/// children of spans from before it use the current line.
///
/// ## Given times
///
/// A time that the wall clock showed at most 10 ms before it is given, or while the span was open
/// and after the wall clock was stepped, is moved onto the span's line, and every other time that
/// is given is kept to the nanosecond.
///
/// `global::tracer` and `SpanRef` (the span in a `Context`) read the wall clock and give its time,
/// so their spans are as correct as the others. So does tracing-opentelemetry, with [an
/// exception](crate#what-can-go-wrong). A time that you choose, which is older or ahead, is kept.
/// An end or event of either kind becomes the span's start if it is before it. A time that is moved
/// keeps its age, to a microsecond, and is not after the call. (By a clock other than the system's,
/// it becomes the present, and a time of the last 10 s too if the wall clock is far from that
/// clock.)
///
/// *Not* promised: the treatment of a time that is read and then given more than 10 ms later, if
/// the wall clock is stepped in between. Of 10<sup>6</sup> spans of two busy threads with a step
/// every 0.12 s, about one is off by a step.
///
/// ## Event time
///
/// While an [event time](tach_core::event_time) of the last 10 ms is current, an event that is
/// added without a time, or with one that was read just now, has the event time, as the log lines
/// have. (Not an event that tracing-opentelemetry keeps until its span is entered. Nor an event of
/// a span from before a step, or after a step of less than a millisecond, if the event time is
/// ahead of the span's line: this event has the line's time.)
///
/// # Cost
///
/// One read of tach's clock for the start, each event and the end. A given start costs a read of
/// the wall clock as well. So does another given time, with a second read of tach's clock, unless
/// it is within a microsecond of the first read. A span that is not recording, because it was
/// sampled out or has ended, ignores events and ends without a clock read. No lock, except at the
/// start of the first spans after a step. No allocation, except for the table at the first step,
/// and for the attribute of a span that was open during a step.
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
    /// The key that this span must release; 0 if there is none.
    key: AtomicU64,
    /// Whether the span started while children follow their parents.
    is_near_step: bool,
    /// Whether the span has published a time that its end must not precede.
    is_seen: AtomicBool,
    has_ended: bool,
}

/// The line of a span, whether it must be listed, and its start.
pub(crate) struct Start(Line, bool, pub(crate) SystemTime);

impl Start {
    /// Reads the clock for a span below `parent`.
    ///
    /// It may be read early, because the start is published afterwards, unless the parent is a span
    /// of this process that is exported: the start must not be before the parent's.
    #[inline]
    pub(crate) fn now<T, C: Clock>(tracer: &Clocked<T, C>, parent: &Context) -> Self {
        let span = parent.span();
        let parent_context = span.span_context();
        let is_ordered = parent_context.is_sampled() && !parent_context.is_remote();
        let clock = &tracer.clock;
        let now = if is_ordered { clock.monotonic_now() } else { clock.early_now() };
        Self::at(tracer, parent, now)
    }

    #[inline]
    fn at<T, C: Clock>(tracer: &Clocked<T, C>, parent: &Context, instant: Instant) -> Self {
        let moment = tracer.lines.moment(&tracer.clock, instant);
        let (line, is_near_step) = tracer.lines.of_span(moment, parent);
        Self(line, is_near_step, system_time(line.ns_at(moment.elapsed_ns)))
    }
}

impl<S: Span, C: Clock + Clone> ClockedSpan<S, C> {
    /// Starts a span from `builder`, and replaces its times.
    #[inline]
    pub(crate) fn from_builder<T>(
        tracer: &Clocked<T, C>,
        mut builder: SpanBuilder,
        parent: &Context,
    ) -> Self
    where
        T: Tracer<Span = S>,
    {
        let has_events = builder.events.is_some();
        let start = if has_events || builder.start_time.is_some() {
            given_start(tracer, &mut builder, parent)
        } else {
            Start::now(tracer, parent)
        };
        builder.start_time.get_or_insert(start.2);
        Self::new(tracer, start, has_events, || tracer.inner.build_with_context(builder, parent))
    }

    #[inline]
    pub(crate) fn new<T>(
        tracer: &Clocked<T, C>,
        Start(line, is_near_step, start): Start,
        is_seen: bool,
        make: impl FnOnce() -> S,
    ) -> Self {
        let (clock, lines) = (tracer.clock.clone(), tracer.lines);
        // After all that may panic, so that the wrapped span of 300 bytes is created in its place.
        Self {
            inner: make(),
            clock,
            lines,
            line,
            start,
            key: AtomicU64::new(0),
            is_near_step,
            is_seen: AtomicBool::new(is_seen),
            has_ended: false,
        }
    }
}

/// Returns the start of a span whose builder has times, and replaces these.
#[cold]
fn given_start<T, C: Clock>(
    tracer: &Clocked<T, C>,
    builder: &mut SpanBuilder,
    parent: &Context,
) -> Start {
    // The wall clock is read first: an age may come out too short, never negative.
    let wall_ns = adapter::wall_clock().as_nanos();
    let Start(line, is_near_step, now) = Start::at(tracer, parent, tracer.clock.monotonic_now());
    let now_ns = UnixTime::from_system_time(now).as_nanos();
    let stepped_ns = line.ns_at(tracer.lines.stepped_ns());
    let has_ages = tracer.lines.is_system();
    let present = Present { now_ns, wall_ns, stepped_ns, has_ages };
    Start(line, is_near_step, present.settle(builder))
}

impl<S: Span, C: Clock> ClockedSpan<S, C> {
    /// Returns the current time, which is not before any read that happened before this one.
    #[inline]
    fn now(&self) -> SystemTime {
        self.time_at(self.clock.monotonic_now())
    }

    #[inline]
    fn time_at(&self, instant: Instant) -> SystemTime {
        system_time(self.line.ns_at(self.lines.elapsed_ns(&self.clock, instant))).max(self.start)
    }

    /// Returns the span's time for `given`, or `None` if the caller chose it.
    ///
    /// If the early read is not before the given time, it is late enough: the caller's read of the
    /// wall clock was ordered.
    #[inline]
    fn moved(&self, given: SystemTime) -> Option<SystemTime> {
        let instant = self.clock.early_now();
        let now = self.time_at(instant);
        if given::is_just_before(given, now) { Some(now) } else { self.moved_apart(given, instant) }
    }

    /// Returns the span's time for `given` if the line is not at the wall clock. It is ahead or
    /// behind by tach's error until tach's next look at the OS's clocks, and by more after a step.
    #[inline(never)]
    fn moved_apart(&self, given: SystemTime, instant: Instant) -> Option<SystemTime> {
        let unix = SystemTime::from(self.clock.unix_time_at(instant));
        if given::is_just_before(given, unix) {
            Some(self.time_at(instant))
        } else if given::is_just_before(unix, given) {
            Some(self.now())
        } else {
            self.moved_by_age(given)
        }
    }

    #[cold]
    fn moved_by_age(&self, given: SystemTime) -> Option<SystemTime> {
        // The order matters: see `given_start`.
        let wall_ns = adapter::wall_clock().as_nanos();
        let now_ns = UnixTime::from_system_time(self.now()).as_nanos();
        let stepped_ns = self.line.ns_at(self.lines.stepped_ns());
        let has_ages = self.lines.is_system();
        let present = Present { now_ns, wall_ns, stepped_ns, has_ages };
        present.moved(given, self.start_ns()).map(|ns| system_time(ns).max(self.start))
    }

    /// Adds an event of `now`, or of the event time if that is just before.
    #[inline]
    fn add_event_now(
        &mut self,
        name: Cow<'static, str>,
        now: SystemTime,
        attributes: Vec<KeyValue>,
    ) {
        *self.is_seen.get_mut() = true;
        let time = event_time::current().map_or(now, |anchor| self.event_time(anchor, now));
        self.inner.add_event_with_timestamp(name, time, attributes);
    }

    fn event_time(&self, anchor: Anchor, now: SystemTime) -> SystemTime {
        let time = SystemTime::from(anchor.unix_time());
        let moment = Duration::from_nanos(MOMENT_NS);
        let is_just_before = now.duration_since(time).is_ok_and(|age| age <= moment);
        if is_just_before { time.max(self.start) } else { now }
    }

    #[inline]
    fn end_at(&mut self, time: SystemTime) {
        self.has_ended = true;
        let current = self.lines.current();
        if current != self.line {
            self.tell_step(current);
        }
        self.inner.end_with_timestamp(time);
        self.release();
    }

    /// Adds the distance of the span's line from the current one.
    #[cold]
    fn tell_step(&mut self, current: Line) {
        let step_ns = current.0.wrapping_sub(self.line.0);
        let step_ns = i64::from_ne_bytes(step_ns.to_ne_bytes());
        self.inner.set_attribute(KeyValue::new("tach.clock.step_ns", step_ns));
    }

    fn start_ns(&self) -> u64 {
        UnixTime::from_system_time(self.start).as_nanos()
    }

    /// Lists a span that started near a step, for its children.
    #[cold]
    fn list(&self, context: &SpanContext) {
        let elapsed_ns = self.start_ns().wrapping_sub(self.line.0);
        let entry = Entry { line: self.line, wall: self.line, elapsed_ns };
        if let Some(key) = self.lines.list(context, entry) {
            if self.has_ended {
                self.lines.release(key);
            } else {
                // ORDERING: Relaxed, because `release` has exclusive access.
                self.key.store(key, Ordering::Relaxed);
            }
        }
    }

    #[inline]
    fn release(&mut self) {
        let key = self.key.get_mut();
        if *key != 0 {
            self.lines.release(core::mem::take(key));
        }
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
            if let Some(time) = self.moved(timestamp) {
                self.add_event_now(name.into(), time, attributes);
            } else {
                let time = timestamp.max(self.start);
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
        if self.is_near_step {
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
            let time = self.moved(timestamp).unwrap_or_else(|| timestamp.max(self.start));
            self.end_at(time);
        }
    }
}

impl<S: Span, C: Clock> Drop for ClockedSpan<S, C> {
    /// Ends the span with a time: the wrapped span's own drop would read the wall clock.
    fn drop(&mut self) {
        if !self.has_ended {
            self.end();
            self.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry::trace::TracerProvider;
    use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
    use std::sync::Arc;
    use tach_core::ManualClock;

    #[test]
    fn a_span_near_a_step_takes_a_slot_from_its_context_to_its_end() {
        for sampler in [Sampler::AlwaysOn, Sampler::AlwaysOff] {
            let is_sampled = matches!(sampler, Sampler::AlwaysOn);
            let provider = SdkTracerProvider::builder().with_sampler(sampler).build();
            let clock = Arc::new(ManualClock::new(UnixTime::from_nanos(1 << 60)));
            let tracer = Clocked::new(provider).with_clock(clock.clone()).tracer("it");
            let used = || tracer.lines.used();
            let start = || tracer.start_with_context("near", &Context::new());
            let early = start();
            clock.step_forward(Duration::from_secs(3600));
            let [dropped, mut ended, mut late] = [start(), start(), start()];
            early.span_context();
            assert_eq!(used(), 0);
            dropped.span_context();
            dropped.span_context();
            ended.span_context();
            assert_eq!(used(), 2);
            drop(dropped);
            assert_eq!(used(), 1);
            ended.end();
            assert_eq!(used(), usize::from(!is_sampled), "a span that is not recorded never ends");
            drop(ended);
            late.end();
            late.span_context();
            assert_eq!(used(), usize::from(!is_sampled));
            drop(late);
            assert_eq!(used(), 0);
        }
    }
}
