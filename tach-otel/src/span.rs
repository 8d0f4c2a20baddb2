//! Wrapped spans.

use core::sync::atomic::{AtomicBool, Ordering};
use std::borrow::Cow;
use std::time::SystemTime;

use opentelemetry::trace::{Span, SpanBuilder, SpanContext, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};
use tach_core::{Clock, Instant, SystemClock, UnixTime, adapter, event_time};

use crate::bracket::Bracket;
use crate::clocked::Clocked;
use crate::given::{self, MOMENT_NS, Present, system_time};
use crate::line::{Line, STEP_NS};
use crate::lines::Lines;
use crate::listed::Entry;

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
/// are listed by their ids, in 50 bytes each, until they have ended and their place is needed.
/// Children of a local parent that is not clocked take the line from before the step.
///
/// ## Given times
///
/// A time that you give is kept to the nanosecond, unless the wall clock was stepped since the
/// span's line began. So an event that you give may lie outside the span, and an end before the
/// start that you gave, as in the SDK. An end that is given before a start that tach read becomes
/// that start.
///
/// A given start may be ahead of tach's clock by the error of the two clocks, 50 microseconds at
/// most. Then a child whose start tach reads does not start before it. Such a child may come out
/// shorter by that. No other span is changed. If you give a start that is further in the future,
/// its children start when tach reads their starts, which is before their parent.
///
/// After a step, a time that the wall clock showed at most 10 ms before it is given, or while the
/// span was open and after the step, is moved onto the span's line. It keeps its age, to a
/// microsecond, and is not before the start. (By a clock other than the system's, a time of the
/// wall clock's last 10 s becomes the present.) Every other time that is given is kept.
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
/// While an [event time](tach_core::event_time) is current, an event that is added without a time,
/// or with one that was read while the event time was current and at most 10 ms after it began, has
/// the event time, as the log lines have. (Not an event that tracing-opentelemetry keeps until its
/// span is entered. Nor an event of a span from before a step, if the event time is ahead of the
/// span's line: this event has the line's time.)
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

/// The start of a span.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    line: Line,
    /// Whether the span starts while children follow their parents.
    is_near_step: bool,
    pub(crate) time: SystemTime,
    /// The elapsed time at the start.
    at_ns: u64,
    /// The elapsed time when the clock was read.
    elapsed_ns: u64,
    /// Whether the caller chose the time.
    is_given: bool,
}

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
        let elapsed_ns = moment.elapsed_ns;
        let at_ns = tracer.lines.ahead.after(parent, elapsed_ns);
        let time = system_time(line.ns_at(at_ns));
        Self { line, is_near_step, time, at_ns, elapsed_ns, is_given: false }
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
        builder.start_time.get_or_insert(start.time);
        Self::new(tracer, start, has_events, || tracer.inner.build_with_context(builder, parent))
    }

    #[inline]
    pub(crate) fn new<T>(
        tracer: &Clocked<T, C>,
        start: Start,
        is_seen: bool,
        make: impl FnOnce() -> S,
    ) -> Self {
        let (clock, lines) = (tracer.clock.clone(), tracer.lines);
        // After all that may panic, so that the wrapped span of 300 bytes is created in its place.
        let span = Self {
            inner: make(),
            clock,
            lines,
            line: start.line,
            start: start.time,
            is_listed: AtomicBool::new(false),
            is_near_step: start.is_near_step,
            is_seen: AtomicBool::new(is_seen),
            is_start_given: start.is_given,
            has_ended: false,
        };
        if start.at_ns > start.elapsed_ns {
            lines.ahead.note(span.inner.span_context(), start.at_ns, start.elapsed_ns);
        }
        span
    }
}

/// Returns the start of a span whose builder has times, and moves these if they must be moved.
#[cold]
fn given_start<T, C: Clock>(
    tracer: &Clocked<T, C>,
    builder: &mut SpanBuilder,
    parent: &Context,
) -> Start {
    let instant = tracer.clock.monotonic_now();
    let now = Start::at(tracer, parent, instant);
    let present = present(&tracer.clock, tracer.lines, now.line, instant, wall_ns);
    if let Some(kept) = present.settle(builder) {
        let at_ns = unix_ns(kept).wrapping_sub(now.line.0);
        return Start { time: kept, at_ns, is_given: true, ..now };
    }
    Start { time: builder.start_time.unwrap_or(now.time), ..now }
}

fn wall_ns() -> u64 {
    adapter::wall_clock().as_nanos()
}

/// Reads the wall clock just after `instant`, and measures its distance from the line if that
/// looks like a step.
fn present(
    clock: &impl Clock,
    lines: Lines,
    line: Line,
    instant: Instant,
    mut wall_ns: impl FnMut() -> u64,
) -> Present {
    let ns_at = |instant| line.ns_at(lines.elapsed_ns(clock, instant));
    let (now_ns, stepped_ns) = (ns_at(instant), line.ns_at(lines.stepped_ns()));
    let has_ages = lines.is_system();
    let present = Present { before_ns: now_ns, now_ns, wall_ns: wall_ns(), stepped_ns, has_ages };
    if !present.is_apart() {
        return present;
    }
    // The wall clock is read before tach's: an age may come out too short, never negative.
    let Bracket { before, wall_ns, after } =
        Bracket::read(clock, instant, present.wall_ns, wall_ns);
    Present { before_ns: ns_at(before), now_ns: ns_at(after), wall_ns, ..present }
}

fn unix_ns(time: SystemTime) -> u64 {
    UnixTime::from_system_time(time).as_nanos()
}

impl<S: Span, C: Clock> ClockedSpan<S, C> {
    /// Returns the current time, which is not before any read that happened before this one.
    #[inline]
    fn now(&self) -> SystemTime {
        self.time_at(self.clock.monotonic_now())
    }

    #[inline]
    fn time_at(&self, instant: Instant) -> SystemTime {
        system_time(self.line_ns(instant)).max(self.start)
    }

    /// Returns the line's time at `instant`, which may be before a start that was given.
    #[inline]
    fn line_ns(&self, instant: Instant) -> u64 {
        self.line.ns_at(self.lines.elapsed_ns(&self.clock, instant))
    }

    /// Returns the span's time for `given`, or `None` if `given` is kept.
    #[inline]
    fn moved(&self, given: SystemTime) -> Option<SystemTime> {
        let instant = self.clock.early_now();
        if given::is_just_before(given, system_time(self.line_ns(instant))) {
            return None;
        }
        self.moved_apart(given, instant)
    }

    /// Returns the same for a time that is not the line's present. The wall clock is ahead or
    /// behind by tach's error until tach's next look at the OS's clocks, and by more after a step.
    #[inline(never)]
    fn moved_apart(&self, given: SystemTime, instant: Instant) -> Option<SystemTime> {
        let moment = self.lines.moment(&self.clock, instant);
        let unix = system_time(moment.unix_ns);
        let (is_past, is_ahead) =
            (given::is_just_before(given, unix), given::is_just_before(unix, given));
        if !is_past && !is_ahead {
            return self.moved_by_age(given, instant);
        }
        if !self.line.is_apart(moment) {
            return None;
        }
        // A second read, because an early one may precede the time of an event.
        Some(if is_past { self.time_at(instant) } else { self.now() })
    }

    #[cold]
    fn moved_by_age(&self, given: SystemTime, instant: Instant) -> Option<SystemTime> {
        let present = present(&self.clock, self.lines, self.line, instant, wall_ns);
        let moved = present.moved(given, unix_ns(self.start));
        moved.map(|ns| system_time(ns).max(self.start))
    }

    /// Returns the event time if it is the time of an event at `time`.
    fn event_time(&self, time: SystemTime) -> Option<SystemTime> {
        let event_time = event_time::current()?.unix_time();
        let (event_ns, ns) = (event_time.as_nanos(), unix_ns(time));
        // The wall clock, which a caller may have read, is ahead or behind by less than a step.
        let is_of_event = event_ns.saturating_sub(STEP_NS) < ns && ns <= event_ns + MOMENT_NS;
        is_of_event.then(|| SystemTime::from(event_time).max(self.start))
    }

    /// Adds an event that tach read at `now`, or that has the event time.
    #[inline]
    fn add_event_now(
        &mut self,
        name: Cow<'static, str>,
        now: SystemTime,
        attributes: Vec<KeyValue>,
    ) {
        *self.is_seen.get_mut() = true;
        // Not an event time that is ahead of an older line.
        let time = self.event_time(now).filter(|time| *time <= now).unwrap_or(now);
        self.inner.add_event_with_timestamp(name, time, attributes);
    }

    /// Returns an end that is kept, but not one before a start that tach read: the clocks' error,
    /// or two steps before tach saw one, would make a negative duration, which breaks back ends.
    fn kept_end(&self, given: SystemTime) -> SystemTime {
        if self.is_start_given { given } else { given.max(self.start) }
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

    /// Adds the distance of the span's line from the current one.
    #[cold]
    fn tell_step(&mut self, current: Line) {
        let step_ns = current.0.wrapping_sub(self.line.0);
        let step_ns = i64::from_ne_bytes(step_ns.to_ne_bytes());
        self.inner.set_attribute(KeyValue::new("tach.clock.step_ns", step_ns));
    }

    /// Lists a span that started near a step, for its children.
    #[cold]
    fn list(&self, context: &SpanContext) {
        let elapsed_ns = unix_ns(self.start).wrapping_sub(self.line.0);
        if self.lines.listed.add(context, Entry { line: self.line, elapsed_ns }) {
            if self.has_ended {
                self.lines.listed.end(context);
            } else {
                // ORDERING: Relaxed, because `unlist` has exclusive access.
                self.is_listed.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Marks the span as ended in the list.
    #[inline]
    fn unlist(&mut self) {
        if core::mem::take(self.is_listed.get_mut()) {
            self.lines.listed.end(self.inner.span_context());
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
                *self.is_seen.get_mut() = true;
                let time = self.event_time(timestamp).unwrap_or(timestamp);
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
            let time = self.moved(timestamp).unwrap_or_else(|| self.kept_end(timestamp));
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

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use opentelemetry::trace::TracerProvider;
    use opentelemetry_sdk::trace::{InMemorySpanExporter, Sampler, SdkTracerProvider};
    use tach_core::ManualClock;

    /// The thread is held up for 5 ms after it has read tach's clock, or the wall clock.
    #[test]
    fn a_thread_that_is_held_up_between_two_clocks_finds_no_step() {
        let manual: &ManualClock =
            Box::leak(Box::new(ManualClock::new(UnixTime::from_nanos(1 << 60))));
        let lines = Lines::new(manual);
        let line = Line(1 << 60);
        for (held_up, times) in [(0, 4), (1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4)] {
            for stepped_ms in [0, 60] {
                let mut reads = 0;
                let hold = |is_held: bool| {
                    manual.advance(Duration::from_millis(if is_held { 5 } else { 0 }));
                };
                let instant = manual.monotonic_now();
                let present = present(&manual, lines, line, instant, || {
                    reads += 1;
                    hold(held_up == 1 && reads <= times);
                    let wall = manual.unix_time().as_nanos() + stepped_ms * 1_000_000;
                    hold(held_up == 2 && reads <= times);
                    wall
                });
                let given = SystemTime::from(UnixTime::from_nanos(present.wall_ns)) - MOMENT / 4;
                let moved = present.moved(given, 0);
                assert_eq!(moved.is_some(), stepped_ms != 0, "{held_up}, {times}, {stepped_ms}");
            }
        }
    }

    /// One caller gives a start that is ahead, as a time that was rounded to milliseconds may be.
    #[test]
    fn a_start_ahead_changes_no_span_but_its_children_and_these_by_the_clocks_error() {
        for (ahead_us, child_us) in [(0, 0), (3, 3), (50, 50), (51, 0), (500, 0), (60_000, 0)] {
            for step in [false, true] {
                // Far ahead of the wall clock, which so has never shown the given start.
                let now = UnixTime::now().saturating_add(Duration::from_secs(360_000));
                let manual: &ManualClock = Box::leak(Box::new(ManualClock::new(now)));
                let exporter = InMemorySpanExporter::default();
                let provider =
                    SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
                let tracer = Clocked::new(provider).with_clock(manual).tracer("it");
                if step {
                    manual.step_forward(Duration::from_secs(3600));
                    tracer.start_with_context("stepped", &Context::new()).end();
                    manual.step_back(Duration::from_secs(3600));
                    manual.advance(Duration::from_secs(60));
                    manual.step_back(Duration::from_secs(60));
                    tracer.start_with_context("back", &Context::new()).end();
                    manual.advance(Duration::from_secs(11));
                    manual.step_back(Duration::from_secs(11));
                    tracer.start_with_context("back", &Context::new()).end();
                    exporter.reset();
                }
                let micros = Duration::from_micros;
                let now = SystemTime::from(manual.unix_time());
                let start = now + micros(ahead_us);
                let given = tracer.span_builder("given").with_start_time(start);
                let given = given.start_with_context(&tracer, &Context::new());
                let given = Context::new().with_span(given);
                let child = given.with_span(tracer.start_with_context("child", &given));
                let grandchild = tracer.start_with_context("grandchild", &child);
                let other = tracer.start_with_context("other", &Context::new());
                manual.advance(micros(100));
                drop((other, grandchild, child, given));
                let spans = exporter.get_finished_spans().unwrap();
                let times: Vec<_> =
                    spans[..3].iter().map(|span| (span.start_time, span.end_time)).collect();
                let (raised, end) = (now + micros(child_us), now + micros(100));
                assert_eq!(times, [(now, end), (raised, end), (raised, end)], "{ahead_us}, {step}");
                assert_eq!((spans[3].start_time, spans[3].end_time), (start, end.max(start)));
            }
        }
    }

    const MOMENT: Duration = Duration::from_nanos(MOMENT_NS);

    #[test]
    fn a_span_near_a_step_is_listed_from_its_context_to_its_end() {
        for sampler in [Sampler::AlwaysOn, Sampler::AlwaysOff] {
            let is_sampled = matches!(sampler, Sampler::AlwaysOn);
            let provider = SdkTracerProvider::builder().with_sampler(sampler).build();
            let clock: &ManualClock =
                Box::leak(Box::new(ManualClock::new(UnixTime::from_nanos(1 << 60))));
            let tracer = Clocked::new(provider).with_clock(clock).tracer("it");
            let used = || tracer.lines.listed.open();
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
            tracer.lines.listed.without_all(|| {
                dropped.span_context();
                assert_eq!(used(), 0, "a span is listed once");
            });
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
