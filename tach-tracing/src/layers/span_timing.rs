//! How long spans are busy and idle.

mod times;

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use tach_core::{Clock, SystemClock};
use tracing_core::Subscriber;
use tracing_core::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{ExtensionsMut, LookupSpan};

use self::times::SpanClock;
pub use self::times::{SpanDurations, SpanTimes};

/// A layer that measures spans: when each was created, how long it was busy, how long idle.
///
/// It keeps [`SpanTimes`] in the extensions of the span, where layers before and after it find
/// them. [`FmtSpan::CLOSE`](tracing_subscriber::fmt::format::FmtSpan::CLOSE) prints busy and idle
/// times too, but always by the system's clock, and no other layer can read them.
///
/// # Guarantees
///
/// Busy and idle time add up to the age, also if several threads enter a span at once: see
/// [`SpanDurations`]. If a thread enters a span again, only its last exit counts. A span whose
/// guard was forgotten is busy until it closes. A span that is older than this layer has no times.
///
/// A layer that panics while it holds the span's extensions poisons them, as a `fmt` layer does
/// when a field's `Display` panics. Then neither this span nor a later one that reuses its memory
/// is measured, and the panic unwinds as without this layer. At each later request for the
/// extensions tracing-subscriber panics: this layer catches the panic, but the panic hook runs.
///
/// # Cost
///
/// A read of the clock, under the lock of the extensions, when a span is created, entered and left.
/// One allocation a span.
///
/// # Examples
///
/// A layer that prints how long each span was busy (`cargo run --example span_timing`):
///
/// ```
/// use std::thread::sleep;
/// use std::time::Duration;
///
/// use tach_tracing::{SpanTimes, SpanTiming};
/// use tracing::{Subscriber, span::Id};
/// use tracing_subscriber::layer::{Context, Layer};
/// use tracing_subscriber::prelude::*;
/// use tracing_subscriber::registry::LookupSpan;
///
/// struct Busy;
///
/// impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Busy {
///     fn on_close(&self, id: Id, context: Context<'_, S>) {
///         let Some(span) = context.span(&id) else { return };
///         if let Some(times) = span.extensions().get::<SpanTimes>() {
///             println!("{}: busy for {:?}", span.name(), times.durations().busy);
///         }
///     }
/// }
///
/// tracing_subscriber::registry().with(SpanTiming::new()).with(Busy).init();
///
/// let waiting = tracing::info_span!("waiting");
/// sleep(Duration::from_millis(20));
/// waiting.in_scope(|| ());
/// ```
///
/// It prints, for instance:
///
/// ```text
/// waiting: busy for 11.6µs
/// ```
#[derive(Debug, Clone, Copy)]
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
        Self { clock: SpanClock(&SystemClock) }
    }

    /// Sets the clock. `clock` is leaked, so that spans share it without a count.
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
        Self { clock: SpanClock(Box::leak(Box::new(clock))) }
    }
}

impl Default for SpanTiming {
    fn default() -> Self {
        Self::new()
    }
}

/// Calls `f` with the extensions of a span, unless they are poisoned.
///
/// tracing-subscriber panics at each request for poisoned extensions. We catch that panic, because
/// the panic that poisoned them exits the span as it unwinds: a second one would abort the process.
#[inline]
fn with_extensions<S>(id: &Id, context: &Context<'_, S>, f: impl FnOnce(&mut ExtensionsMut<'_>))
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let Some(span) = context.span(id) else { return };
    if let Ok(mut extensions) = catch_unwind(AssertUnwindSafe(|| span.extensions_mut())) {
        f(&mut extensions);
    }
}

impl<S> Layer<S> for SpanTiming
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    #[inline]
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        with_extensions(id, &context, |extensions| {
            extensions.replace(SpanTimes::new(self.clock));
        });
    }

    #[inline]
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        with_extensions(id, &context, |extensions| {
            extensions.get_mut().map(SpanTimes::enter);
        });
    }

    #[inline]
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        with_extensions(id, &context, |extensions| {
            extensions.get_mut().map(SpanTimes::exit);
        });
    }
}
