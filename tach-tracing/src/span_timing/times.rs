//! What is known of a span's time.

use core::time::Duration;

use tach_core::{Clock, MonotonicInstant, SystemClock};

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
    inside: Inside,
    /// Up to when `busy` and `thread_time` are counted, if any thread is inside; when the span was closed,
    /// if it is.
    counted: MonotonicInstant,
    busy: Duration,
    thread_time: Duration,
    /// Once the span is closed.
    closed: Option<SpanDurations>,
}

impl SpanTimes {
    #[inline]
    pub(super) fn new(clock: &impl Clock) -> Self {
        let now = clock.monotonic_now();
        Self {
            created: now,
            inside: Inside::default(),
            counted: now,
            busy: Duration::ZERO,
            thread_time: Duration::ZERO,
            closed: None,
        }
    }

    #[inline]
    pub(super) fn enter(&mut self, clock: &impl Clock) {
        let before = self.inside.count();
        if self.inside.enter(Thread::current()) {
            self.count(before, clock);
        }
    }

    #[inline]
    pub(super) fn exit(&mut self, clock: &impl Clock) {
        let before = self.inside.count();
        if self.inside.exit(Thread::current()) {
            self.count(before, clock);
        }
    }

    #[inline]
    pub(super) fn close(&mut self, clock: &impl Clock) {
        if self.closed.is_none() {
            self.count(self.inside.count(), clock);
            self.closed = Some(self.counted_durations(clock));
        }
    }

    /// Counts the time until now, while so many threads were inside.
    #[inline]
    fn count(&mut self, threads: u32, clock: &impl Clock) {
        let now = clock.monotonic_now();
        if threads > 0 {
            let passed = clock.duration_between(self.counted.into(), now.into());
            self.busy = self.busy.saturating_add(passed);
            self.thread_time = self.thread_time.saturating_add(passed.saturating_mul(threads));
        }
        self.counted = now;
    }

    /// The durations until what is counted.
    #[inline]
    fn counted_durations(&self, clock: &impl Clock) -> SpanDurations {
        let age = clock.duration_between(self.created.into(), self.counted.into());
        // Each part is rounded to a nanosecond by itself.
        SpanDurations { age, busy: self.busy.min(age), thread_time: self.thread_time }
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

    /// When the span was closed; `None` as long as it is open, or seen by a layer that is told of the end
    /// before [`SpanTiming`](crate::SpanTiming) is.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::SpanTimes;
    ///
    /// fn is_open(times: &SpanTimes) -> bool {
    ///     times.closed().is_none()
    /// }
    /// ```
    #[must_use]
    pub fn closed(&self) -> Option<MonotonicInstant> {
        self.closed.map(|_| self.counted)
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

    /// How long the span has lasted and was busy, until now or, once it is closed, until then.
    ///
    /// # Cost
    ///
    /// For an open span a read of the clock.
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

    /// As [`durations`](Self::durations), for an open span by `clock`, which must be the one of its
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
        self.closed.unwrap_or_else(|| {
            let mut times = self.clone();
            times.count(times.inside.count(), clock);
            times.counted_durations(clock)
        })
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
