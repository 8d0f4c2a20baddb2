//! The times of a span.

use core::time::Duration;

use tach_core::Instant;

use super::clock::SpanClock;
use super::inside::{Inside, Thread};

/// The times of a span, an extension that [`SpanTiming`](crate::SpanTiming) adds.
///
/// # Examples
///
/// A layer that reads them when a span closes:
///
/// ```
/// use tach_tracing::SpanTimes;
/// use tracing::{Subscriber, span::Id};
/// use tracing_subscriber::layer::{Context, Layer};
/// use tracing_subscriber::registry::LookupSpan;
///
/// struct Busiest;
///
/// impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Busiest {
///     fn on_close(&self, id: Id, context: Context<'_, S>) {
///         let Some(span) = context.span(&id) else { return };
///         if let Some(times) = span.extensions().get::<SpanTimes>() {
///             println!("{} was busy for {:?}", span.name(), times.durations().busy);
///         }
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct SpanTimes {
    clock: SpanClock,
    created: Instant,
    /// The end of the time that `busy` and `beside` count.
    ///
    /// The lock of the extensions orders the reads of several threads. The clock does not, so a
    /// read that is earlier than the one before counts as equal.
    counted: Instant,
    /// The end of the span, as the first `CloseTimes` read it.
    closed: Option<Instant>,
    busy: Duration,
    /// The time of all threads inside but the first, added up.
    beside: Duration,
    inside: Inside,
}

impl SpanTimes {
    #[inline]
    pub(in crate::layers) fn new(clock: SpanClock) -> Self {
        let now = clock.monotonic_now();
        Self {
            clock,
            created: now,
            counted: now,
            closed: None,
            busy: Duration::ZERO,
            beside: Duration::ZERO,
            inside: Inside::default(),
        }
    }

    #[inline]
    pub(in crate::layers) fn enter(&mut self) {
        let threads = self.inside.count();
        if self.inside.enter(Thread::current()) {
            self.count(threads);
        }
    }

    #[inline]
    pub(in crate::layers) fn exit(&mut self) {
        let threads = self.inside.count();
        if self.inside.exit(Thread::current()) {
            self.count(threads);
        }
    }

    /// Counts the time until now, with `threads` inside.
    #[inline]
    fn count(&mut self, threads: u32) {
        let now = self.clock.now().max(self.counted);
        (self.busy, self.beside) = self.counted_until(now, threads);
        self.counted = now;
    }

    /// Returns `busy` and `beside` until `now`, with `threads` inside.
    #[inline]
    fn counted_until(&self, now: Instant, threads: u32) -> (Duration, Duration) {
        if threads == 0 {
            return (self.busy, self.beside);
        }
        let passed = self.clock.duration_between(self.counted, now);
        let busy = self.busy.saturating_add(passed);
        if threads == 1 {
            return (busy, self.beside);
        }
        (busy, self.beside.saturating_add(passed.saturating_mul(threads - 1)))
    }

    /// Ends the span, unless it has ended already, and returns its durations.
    pub(in crate::layers) fn close(&mut self) -> SpanDurations {
        self.closed.get_or_insert_with(|| self.clock.now());
        self.durations()
    }

    /// Returns the time at which the span was created.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::UnixTime;
    /// use tach_tracing::SpanTimes;
    ///
    /// fn start(times: &SpanTimes) -> UnixTime {
    ///     times.created().unix_time()
    /// }
    /// ```
    #[must_use]
    pub fn created(&self) -> Instant {
        self.created
    }

    /// Returns the number of threads inside now.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::SpanTimes;
    ///
    /// fn is_idle(times: &SpanTimes) -> bool {
    ///     times.threads() == 0
    /// }
    /// ```
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.inside.count()
    }

    /// Returns the durations until now, or the final ones once [`CloseTimes`](crate::CloseTimes)
    /// has used them.
    ///
    /// A pinned event time changes nothing: it may belong to an event during which the span closes.
    ///
    /// # Cost
    ///
    /// A read of the clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tracing::SpanTimes;
    ///
    /// fn is_slow(times: &SpanTimes) -> bool {
    ///     times.durations().age > Duration::from_secs(1)
    /// }
    /// ```
    #[must_use]
    pub fn durations(&self) -> SpanDurations {
        let now = self.closed.unwrap_or_else(|| self.clock.now()).max(self.counted);
        let age = self.clock.duration_between(self.created, now);
        let (busy, beside) = self.counted_until(now, self.inside.count());
        // The parts were rounded one by one, and may exceed the age.
        let busy = busy.min(age);
        let idle = age.saturating_sub(busy);
        SpanDurations { age, busy, idle, thread_time: busy.saturating_add(beside) }
    }
}

/// The durations of a span.
///
/// # Examples
///
/// ```
/// use tach_tracing::SpanTimes;
///
/// fn line(times: &SpanTimes) -> String {
///     let durations = times.durations();
///     format!("busy for {:?} of {:?}", durations.busy, durations.age)
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SpanDurations {
    /// The time since the span was created: `busy` plus `idle`, exactly.
    pub age: Duration,
    /// The time with at least one thread inside.
    pub busy: Duration,
    /// The time with no thread inside.
    pub idle: Duration,
    /// The time inside, added up over the threads: twice `busy` if two threads were inside all the
    /// time.
    pub thread_time: Duration,
}
