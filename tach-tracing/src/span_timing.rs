//! How long spans are busy and idle.

mod inside;
mod times;

use tach_core::{Clock, SystemClock};
use tracing_core::Subscriber;
use tracing_core::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

pub use self::times::{SpanDurations, SpanTimes};
use crate::poison::unless_poisoned;

/// A layer that measures spans: when each was created, how long it was busy, how long idle.
///
/// It keeps [`SpanTimes`] in the span's extensions, where other layers read it. tracing-subscriber's `fmt`
/// layer measures the same for [`FmtSpan::CLOSE`](tracing_subscriber::fmt::format::FmtSpan::CLOSE), by
/// the standard library's clock and for itself only. [`CloseTimes`](crate::CloseTimes) prints these
/// as it does.
///
/// # Guarantees
///
/// Busy and idle time are never negative and add up to the age, to the nanosecond, also for a span that is
/// entered on several threads at once: see [`SpanDurations`]. Entering again what the thread has entered
/// already changes nothing until the thread has left as often.
///
/// A span that exists before this layer (which was loaded later, say) has no times. An exit without
/// an enter is ignored. A span that is closed while it is entered, since the guard was forgotten, was
/// busy until then. Whoever reads the times may be added before this layer or after it.
///
/// A panic in another layer that holds the span's extensions, such as that of a field's `Display` while the
/// `fmt` layer records it, poisons them: such a span is measured no more, nor is a later one to which
/// tracing-subscriber gives its memory, and the panic unwinds as it would without this layer.
/// tracing-subscriber panics anew each time that this layer asks for the extensions; that is caught, but the
/// panic hook is told.
///
/// # Cost
///
/// A read of the clock, under the lock of the span's extensions, when it is created, entered and left; none
/// when a thread enters again. One allocation a span, for the extension, and another if several threads are
/// inside at once.
///
/// # Examples
///
/// Lines with the times of two spans, of which the first was entered on two threads at once
/// (`cargo run --example span_timing`):
///
/// ```
/// use std::thread::{self, sleep};
/// use std::time::Duration;
///
/// use tach_tracing::{CloseTimes, SpanTiming, Utc};
/// use tracing_subscriber::fmt;
/// use tracing_subscriber::prelude::*;
///
/// let lines = fmt::layer().with_ansi(false).with_target(false).with_timer(Utc::<6>);
/// tracing_subscriber::registry().with(SpanTiming::new()).with(CloseTimes::new(lines)).init();
///
/// let shared = tracing::info_span!("shared");
/// thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| shared.in_scope(|| sleep(Duration::from_millis(20))));
///     }
/// });
/// drop(shared);
///
/// let waiting = tracing::info_span!("waiting");
/// sleep(Duration::from_millis(20));
/// waiting.in_scope(|| ());
/// ```
///
/// It prints, for instance:
///
/// ```text
/// 2026-11-21T14:10:03.414653Z  INFO shared: close time.busy=20.1ms time.idle=3.59ms
/// 2026-11-21T14:10:03.434924Z  INFO waiting: close time.busy=11.6µs time.idle=20.1ms
/// ```
///
/// [`SpanTimes`] has a layer that reads the times.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpanTiming<C = SystemClock> {
    clock: C,
}

impl SpanTiming {
    /// By the system's clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::{CloseTimes, SpanTiming, Utc};
    /// use tracing_subscriber::prelude::*;
    ///
    /// let lines = tracing_subscriber::fmt::layer().with_timer(Utc::<6>);
    /// tracing_subscriber::registry().with(SpanTiming::new()).with(CloseTimes::new(lines)).init();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self { clock: SystemClock }
    }
}

impl<C> SpanTiming<C> {
    /// The same by `clock`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_tracing::SpanTiming;
    /// use tracing_subscriber::prelude::*;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// tracing_subscriber::registry().with(SpanTiming::new().with_clock(&CLOCK)).init();
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> SpanTiming<D> {
        SpanTiming { clock }
    }
}

impl<C: Clock> SpanTiming<C> {
    /// Lets `change` see the times of a span, if it has any.
    #[inline]
    fn change<S>(&self, id: &Id, context: &Context<'_, S>, change: impl FnOnce(&mut SpanTimes, &C))
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let Some(span) = context.span(id) else { return };
        let Some(mut extensions) = unless_poisoned(|| span.extensions_mut()) else { return };
        if let Some(times) = extensions.get_mut::<SpanTimes>() {
            change(times, &self.clock);
        }
    }
}

impl<S, C> Layer<S> for SpanTiming<C>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    C: Clock + 'static,
{
    #[inline]
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let Some(mut extensions) = unless_poisoned(|| span.extensions_mut()) else { return };
        extensions.replace(SpanTimes::new(&self.clock));
    }

    #[inline]
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        self.change(id, &context, SpanTimes::enter);
    }

    #[inline]
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        self.change(id, &context, SpanTimes::exit);
    }
}
