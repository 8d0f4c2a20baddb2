//! How long spans are busy and idle.

mod clock;
mod inside;
mod times;

use tach_core::Clock;
use tracing_core::Subscriber;
use tracing_core::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{ExtensionsMut, LookupSpan};

pub(super) use self::clock::SpanClock;
pub use self::times::{SpanDurations, SpanTimes};
use super::poison::unless_poisoned;

/// A layer that measures spans: when each was created, how long it was busy, how long idle.
///
/// It keeps [`SpanTimes`] in the extensions of the span, where layers before and after it find
/// them. [`CloseTimes`](crate::CloseTimes) prints them, and measures by itself without this layer.
/// tracing-subscriber's [`FmtSpan::CLOSE`](tracing_subscriber::fmt::format::FmtSpan::CLOSE) keeps
/// what it measures to itself.
///
/// # Guarantees
///
/// Busy and idle time add up to the age, also if several threads enter a span at once: see
/// [`SpanDurations`]. If a thread enters a span again, only its last exit counts. An exit without
/// an enter is ignored. A span whose guard was forgotten is busy until it closes. A span that is
/// older than this layer has no times.
///
/// A layer that panics while it holds the span's extensions poisons them, as a `fmt` layer does
/// when a field's `Display` panics. Then neither this span nor a later one that reuses its memory
/// is measured, and the panic unwinds as without this layer. At each later request for the
/// extensions tracing-subscriber panics: this layer catches the panic, but the panic hook runs.
///
/// # Cost
///
/// A read of the clock, under the lock of the extensions, when a span is created, entered and left.
/// One allocation a span, and another one if several threads are inside at once.
///
/// # Examples
///
/// Two threads enter the first span at once (`cargo run --example span_timing`):
///
/// ```
/// use std::thread::{self, sleep};
/// use std::time::Duration;
///
/// use tach_tracing::{CloseTimes, SpanTiming, Utc};
/// use tracing_subscriber::fmt;
/// use tracing_subscriber::prelude::*;
///
/// let lines = fmt::layer().with_ansi(false).with_target(false).with_timer(Utc);
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
#[derive(Debug, Clone, Default)]
pub struct SpanTiming {
    clock: SpanClock,
}

impl SpanTiming {
    /// Creates a layer with the system's clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::SpanTiming;
    /// use tracing_subscriber::prelude::*;
    ///
    /// tracing_subscriber::registry().with(SpanTiming::new()).init();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self { clock: SpanClock::SYSTEM }
    }

    /// Sets the clock.
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
    pub fn with_clock(self, clock: impl Clock + 'static) -> Self {
        Self { clock: SpanClock::new(clock) }
    }
}

/// Adds times to a new span.
#[inline]
pub(super) fn begin<S>(
    id: &Id,
    context: &Context<'_, S>,
    begin: impl FnOnce(&mut ExtensionsMut<'_>),
) where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let Some(span) = context.span(id) else { return };
    let Some(mut extensions) = unless_poisoned(|| span.extensions_mut()) else { return };
    begin(&mut extensions);
}

/// Calls `change` with the times of a span, if it has any.
#[inline]
pub(super) fn change<S>(id: &Id, context: &Context<'_, S>, change: impl FnOnce(&mut SpanTimes))
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let Some(span) = context.span(id) else { return };
    let Some(mut extensions) = unless_poisoned(|| span.extensions_mut()) else { return };
    if let Some(times) = extensions.get_mut::<SpanTimes>() {
        change(times);
    }
}

impl<S> Layer<S> for SpanTiming
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    #[inline]
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        begin(id, &context, |extensions| {
            extensions.replace(SpanTimes::new(self.clock.clone()));
        });
    }

    #[inline]
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        change(id, &context, SpanTimes::enter);
    }

    #[inline]
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        change(id, &context, SpanTimes::exit);
    }
}
