//! The times of a span.

use core::fmt;
use core::time::Duration;

use tach_core::{Clock, Instant};

/// The clock that measures a span.
#[derive(Clone, Copy)]
pub(super) struct SpanClock(pub(super) &'static dyn Clock);

impl fmt::Debug for SpanClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("dyn Clock")
    }
}

/// The times of a span, an extension that [`SpanTiming`](crate::SpanTiming) adds.
///
/// # Examples
///
/// A layer that reads them when a span closes is an example of
/// [`SpanTiming`](crate::SpanTiming#examples).
#[derive(Debug, Clone)]
pub struct SpanTimes {
    clock: SpanClock,
    created: Instant,
    /// The end of the time that `busy` counts.
    ///
    /// The lock of the extensions orders the reads of several threads. The clock does not, so a
    /// read that is earlier than the one before counts as equal.
    counted: Instant,
    busy: Duration,
    /// The number of enters without an exit, over all threads.
    entered: usize,
}

impl SpanTimes {
    #[inline]
    pub(super) fn new(clock: SpanClock) -> Self {
        let now = clock.0.monotonic_now();
        Self { clock, created: now, counted: now, busy: Duration::ZERO, entered: 0 }
    }

    #[inline]
    pub(super) fn enter(&mut self) {
        if self.entered == 0 {
            self.counted = self.now();
        }
        self.entered += 1;
    }

    #[inline]
    pub(super) fn exit(&mut self) {
        if self.entered == 1 {
            let now = self.now();
            self.busy = self.busy_until(now);
            self.counted = now;
        }
        self.entered = self.entered.saturating_sub(1);
    }

    #[inline]
    fn now(&self) -> Instant {
        self.clock.0.now().max(self.counted)
    }

    #[inline]
    fn busy_until(&self, now: Instant) -> Duration {
        if self.entered == 0 {
            return self.busy;
        }
        self.busy.saturating_add(self.clock.0.duration_between(self.counted, now))
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

    /// Returns the durations until now.
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
        let now = self.now();
        let age = self.clock.0.duration_between(self.created, now);
        // The parts were rounded one by one, and may exceed the age.
        let busy = self.busy_until(now).min(age);
        SpanDurations { age, busy, idle: age.saturating_sub(busy) }
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
}
