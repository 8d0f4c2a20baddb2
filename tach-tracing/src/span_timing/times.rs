//! What is known of a span's time.

use core::time::Duration;

use tach_core::{Clock, Instant, MonotonicInstant, SystemClock};

use super::inside::{Inside, Thread};

/// When a span was created and how long threads were inside: an extension of each span that
/// [`SpanTiming`](crate::SpanTiming) measures.
///
/// # Examples
///
/// A layer that reads it when a span is closed:
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
///             println!("{} was busy for {:?}", span.name(), times.durations().busy());
///         }
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct SpanTimes {
    created: MonotonicInstant,
    /// Up to when the durations are counted, if any thread is inside.
    ///
    /// The reads are bare, and those of several threads may come the wrong way round by some ns. The lock of
    /// the extensions puts them in order, and each is taken for no earlier than the one before.
    counted: Instant,
    /// When it was closed, as the first one found who told of that.
    closed: Option<Instant>,
    busy: Duration,
    /// The time of the threads beside the first.
    beside: Duration,
    inside: Inside,
}

impl SpanTimes {
    #[inline]
    pub(super) fn new(clock: &impl Clock) -> Self {
        let now = clock.monotonic_now();
        Self {
            created: now,
            counted: now.into(),
            closed: None,
            busy: Duration::ZERO,
            beside: Duration::ZERO,
            inside: Inside::default(),
        }
    }

    #[inline]
    pub(super) fn enter(&mut self, clock: &impl Clock) {
        let threads = self.inside.count();
        if self.inside.enter(Thread::current()) {
            self.count(threads, clock);
        }
    }

    #[inline]
    pub(super) fn exit(&mut self, clock: &impl Clock) {
        let threads = self.inside.count();
        if self.inside.exit(Thread::current()) {
            self.count(threads, clock);
        }
    }

    /// Counts the time until now, while so many threads were inside.
    #[inline]
    fn count(&mut self, threads: u32, clock: &impl Clock) {
        let now = clock.now().max(self.counted);
        (self.busy, self.beside) = self.counted_until(now, threads, clock);
        self.counted = now;
    }

    /// `busy` and `beside` until `now`, if so many threads were inside.
    #[inline]
    fn counted_until(
        &self,
        now: Instant,
        threads: u32,
        clock: &impl Clock,
    ) -> (Duration, Duration) {
        if threads == 0 {
            return (self.busy, self.beside);
        }
        let passed = clock.duration_between(self.counted, now);
        let busy = self.busy.saturating_add(passed);
        if threads == 1 {
            return (busy, self.beside);
        }
        (busy, self.beside.saturating_add(passed.saturating_mul(threads - 1)))
    }

    /// The durations of a span that is being closed: the same for all who ask.
    pub(crate) fn close(&mut self, clock: &impl Clock) -> SpanDurations {
        self.closed.get_or_insert_with(|| clock.now());
        self.durations_by(clock)
    }

    /// When the span was created.
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
    pub fn created(&self) -> MonotonicInstant {
        self.created
    }

    /// How many threads are inside now.
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

    /// How long the span has lasted and was busy until now: when it is closed, all in all. Once
    /// [`CloseTimes`](crate::CloseTimes) has told of that, these are the durations that it told.
    ///
    /// A [`Stamp`](tach_core::Stamp) that is pinned to the thread changes nothing: it may be that of an event
    /// in whose midst the span is closed, or by another clock.
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
    ///     times.durations().age() > Duration::from_secs(1)
    /// }
    /// ```
    #[must_use]
    pub fn durations(&self) -> SpanDurations {
        self.durations_by(&SystemClock)
    }

    /// As [`durations`](Self::durations) by `clock`, which must be that of the span's
    /// [`SpanTiming`](crate::SpanTiming).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::Clock;
    /// use tach_tracing::SpanTimes;
    ///
    /// fn is_slow(times: &SpanTimes, clock: &dyn Clock) -> bool {
    ///     times.durations_by(&clock).age() > Duration::from_secs(1)
    /// }
    /// ```
    #[must_use]
    pub fn durations_by(&self, clock: &impl Clock) -> SpanDurations {
        let now = self.closed.unwrap_or_else(|| clock.now()).max(self.counted);
        let age = clock.duration_between(self.created.into(), now);
        let (busy, beside) = self.counted_until(now, self.inside.count(), clock);
        // Each part was rounded to a nanosecond by itself.
        let busy = busy.min(age);
        SpanDurations { age, busy, thread_time: busy.saturating_add(beside) }
    }
}

/// How long a span has lasted, and how much of that it was busy.
///
/// # Guarantees
///
/// [`busy`](Self::busy) and [`idle`](Self::idle) add up to [`age`](Self::age) exactly.
///
/// # Examples
///
/// ```
/// use tach_tracing::SpanTimes;
///
/// fn line(times: &SpanTimes) -> String {
///     let durations = times.durations();
///     format!("busy for {:?} of {:?}", durations.busy(), durations.age())
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanDurations {
    age: Duration,
    busy: Duration,
    thread_time: Duration,
}

impl SpanDurations {
    /// The time since the span was created.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::SpanDurations;
    ///
    /// fn busy_share(durations: SpanDurations) -> f64 {
    ///     durations.busy().as_secs_f64() / durations.age().as_secs_f64()
    /// }
    /// ```
    #[must_use]
    pub const fn age(&self) -> Duration {
        self.age
    }

    /// The time in which at least one thread was inside.
    ///
    /// # Examples
    ///
    /// See [`age`](Self::age).
    #[must_use]
    pub const fn busy(&self) -> Duration {
        self.busy
    }

    /// The time in which no thread was inside.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tracing::SpanDurations;
    ///
    /// fn waits_for_long(durations: SpanDurations) -> bool {
    ///     durations.idle() > Duration::from_secs(1)
    /// }
    /// ```
    #[must_use]
    pub const fn idle(&self) -> Duration {
        self.age.saturating_sub(self.busy)
    }

    /// The time that threads were inside, added up over the threads: equal to [`busy`](Self::busy) where no
    /// two were inside at once, twice that where two were inside all the time.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::SpanDurations;
    ///
    /// fn threads_at_once(durations: SpanDurations) -> f64 {
    ///     durations.thread_time().as_secs_f64() / durations.busy().as_secs_f64()
    /// }
    /// ```
    #[must_use]
    pub const fn thread_time(&self) -> Duration {
        self.thread_time
    }
}
