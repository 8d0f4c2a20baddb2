//! One event, one time.

mod callback;
mod downcast;

use tach_core::{Clock, SystemClock};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Dispatch, Event, Interest, LevelFilter, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use self::callback::Callback;
use self::downcast::downcast_to;

/// A layer that gives each event one time, which all layers inside it print.
///
/// Without it, the lines of one event differ, because each `fmt` layer asks its own timer. This
/// layer reads the clock once an event and makes the time the thread's
/// [event time](tach_core::event_time) while the inner layers handle the event. The timers of other
/// crates ignore it.
///
/// The inner layer may be any stack: `a.and_then(b)`, an `Option`, a `Vec` of boxed layers. Filters
/// may be inside and around. If each inner layer has a filter, put the layers into a `Vec`: for
/// `a.and_then(b)` right above the registry, tracing-subscriber 0.3.23 asks only `b` for its most
/// verbose level.
///
/// # Guarantees
///
/// - All inner layers see one time for an event.
/// - A nested event, logged by a field's `Display` for instance, has its own time, which is not
///   earlier. The outer event keeps its time.
/// - Of nested layers of this type the outermost gives the time. Side by side, each gives its own.
/// - A time that the program set with [`during`](tach_core::event_time::during) is kept.
/// - After a panic of an inner layer, no time stays pinned.
///
/// Put all layers that print inside one `EventTime`: a layer outside it receives nested events
/// while the time of the outer event is pinned.
///
/// # Two layers of text
///
/// Text layers share the formatted fields of a span, unless their field formatters have different
/// types: the second layer prints the text of the first, colours included, and a field that is
/// recorded later appears twice. Give one of them
/// [`fmt_fields`](tracing_subscriber::fmt::Layer::fmt_fields) of another type.
///
/// # Cost
///
/// One read of the clock an event. No allocation, no lock.
///
/// # Examples
///
/// Text for people and JSON for machines, with the same time (`cargo run --example event_time`):
///
/// ```
/// use tach_tracing::{EventTime, Utc};
/// use tracing_subscriber::fmt;
/// use tracing_subscriber::prelude::*;
///
/// let text = fmt::layer().with_ansi(false).with_target(false).with_timer(Utc);
/// let json = fmt::layer().json().with_target(false).with_timer(Utc);
/// tracing_subscriber::registry().with(EventTime::new(text.and_then(json))).init();
///
/// tracing::info!("ready");
/// tracing::warn!("slow request");
/// ```
///
/// It prints, for instance:
///
/// ```text
/// 2026-11-21T14:05:01.539097Z  INFO ready
/// {"timestamp":"2026-11-21T14:05:01.539097Z","level":"INFO","fields":{"message":"ready"}}
/// 2026-11-21T14:05:01.539157Z  WARN slow request
/// {"timestamp":"2026-11-21T14:05:01.539157Z","level":"WARN","fields":{"message":"slow request"}}
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct EventTime<L, C = SystemClock> {
    layer: L,
    clock: C,
    span_events: bool,
}

impl<L> EventTime<L> {
    /// Wraps `layer`, with the system's clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::{EventTime, Utc};
    /// use tracing_subscriber::prelude::*;
    ///
    /// let layer = tracing_subscriber::fmt::layer().with_timer(Utc);
    /// tracing_subscriber::registry().with(EventTime::new(layer)).init();
    /// ```
    pub const fn new(layer: L) -> Self {
        Self { layer, clock: SystemClock, span_events: false }
    }
}

impl<L, C> EventTime<L, C> {
    /// Sets the clock, which an inner [`Uptime`](const@crate::Uptime) must share.
    ///
    /// With an [`IncreasingClock`](tach_core::IncreasingClock) no two events have one time. Its
    /// resolution is that of the fewest digits that an inner timer prints.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_tracing::{EventTime, Utc};
    /// use tracing_subscriber::prelude::*;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let layer = tracing_subscriber::fmt::layer().with_timer(Utc.digits(3));
    /// tracing_subscriber::registry().with(EventTime::new(layer).with_clock(&CLOCK)).init();
    /// tracing::info!("1970-01-01T00:00:00.000Z, in a test");
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> EventTime<L, D> {
        EventTime { layer: self.layer, clock, span_events: self.span_events }
    }

    /// Gives one time to each span event as well: new, enter, exit and close.
    ///
    /// For `fmt` layers with [`FmtSpan`](tracing_subscriber::fmt::format::FmtSpan). By default, a
    /// span event has the time at which it is printed, also while an event is handled.
    ///
    /// # Cost
    ///
    /// A read of the clock a span event.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::{EventTime, Utc};
    /// use tracing_subscriber::fmt::format::FmtSpan;
    /// use tracing_subscriber::prelude::*;
    ///
    /// let layer = tracing_subscriber::fmt::layer().with_timer(Utc);
    /// let layer = layer.with_span_events(FmtSpan::NEW);
    /// tracing_subscriber::registry().with(EventTime::new(layer).with_span_events()).init();
    /// ```
    #[must_use]
    pub fn with_span_events(mut self) -> Self {
        self.span_events = true;
        self
    }
}

impl<L, C: Clock> EventTime<L, C> {
    #[inline]
    fn at_span_event(&self, callback: Callback, f: impl FnOnce()) {
        if self.span_events {
            callback.at_one_time(&self.clock, f);
        } else {
            callback.at_own_time(f);
        }
    }
}

impl<S, L, C> Layer<S> for EventTime<L, C>
where
    S: Subscriber,
    L: Layer<S>,
    C: Clock + 'static,
{
    downcast_to!(layer);

    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        self.layer.on_register_dispatch(subscriber);
    }

    fn on_layer(&mut self, subscriber: &mut S) {
        self.layer.on_layer(subscriber);
    }

    #[inline]
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        self.layer.register_callsite(metadata)
    }

    #[inline]
    fn enabled(&self, metadata: &Metadata<'_>, context: Context<'_, S>) -> bool {
        self.layer.enabled(metadata, context)
    }

    #[inline]
    fn max_level_hint(&self) -> Option<LevelFilter> {
        self.layer.max_level_hint()
    }

    #[inline]
    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        self.layer.on_record(id, values, context);
    }

    #[inline]
    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        self.layer.on_follows_from(id, follows, context);
    }

    #[inline]
    fn event_enabled(&self, event: &Event<'_>, context: Context<'_, S>) -> bool {
        self.layer.event_enabled(event, context)
    }

    #[inline]
    fn on_id_change(&self, old: &Id, new: &Id, context: Context<'_, S>) {
        self.layer.on_id_change(old, new, context);
    }

    #[inline]
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        Callback::event(event).at_one_time(&self.clock, || self.layer.on_event(event, context));
    }

    #[inline]
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        self.at_span_event(Callback::NewSpan(id.into_u64()), || {
            self.layer.on_new_span(attributes, id, context);
        });
    }

    #[inline]
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        self.at_span_event(Callback::Enter(id.into_u64()), || self.layer.on_enter(id, context));
    }

    #[inline]
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        self.at_span_event(Callback::Exit(id.into_u64()), || self.layer.on_exit(id, context));
    }

    #[inline]
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.at_span_event(Callback::Close(id.into_u64()), || self.layer.on_close(id, context));
    }
}
