//! One event, one time.

mod callback;

use tach_core::{Clock, IncreasingClock, SystemClock};
use tracing_core::span::{Attributes, Id};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use self::callback::Callback;
use super::forward::forward_to;
use crate::timers::increasing;

/// A layer around others that gives each event one time, which all of them print.
///
/// Each `fmt` layer asks its own timer, so the lines of one event differ. This layer reads the clock once
/// an event and pins that time to the thread, as a [`Stamp`](tach_core::Stamp), while the layers inside
/// it handle the event. Every timer of this crate prints the pinned time. Timers of other crates don't.
///
/// The inner layer may be any layer or stack: `a.and_then(b)`, an `Option`, a `Vec` of boxed layers,
/// layers with filters, reloaded layers. Filters may be inside and around. If each layer has a filter of
/// its own, put them into a `Vec`: for `a.and_then(b)` right above the registry, tracing-subscriber
/// 0.3.23 asks only `b` for the most verbose level, with or without this layer around them.
///
/// # Guarantees
///
/// - All inner layers see one time for an event, however long each of them takes.
/// - A nested event, logged by a field's `Display` for instance, has its own time, which is not earlier.
///   The outer event keeps its time.
/// - If several of these layers are nested, the outermost one gives the time. Side by side, each gives
///   its own.
/// - A time that the program pinned with [`Stamp::during`](tach_core::Stamp::during) is kept: an event
///   that is logged after it happened has the time at which it happened.
/// - After a panic of an inner layer, no time stays pinned.
///
/// Span events have no such time unless [`with_span_events`](Self::with_span_events) asks for it: the
/// line of a span that closes while an event is handled has the time at which it is printed.
///
/// # Layers beside this one
///
/// A layer outside this one receives nested events while the time of the outer event is pinned, and
/// prints that time. Put all layers that print inside one `EventTime`.
///
/// # Two layers of text
///
/// A text layer keeps the formatted fields of a span in its extensions, by the type of the field
/// formatter. Two layers with the same type share them: the second prints the text of the first, colours
/// included, and a field that is recorded later appears twice. Give one of them
/// [`fmt_fields`](tracing_subscriber::fmt::Layer::fmt_fields) of another type.
///
/// # Cost
///
/// One read of the clock an event, instead of one a layer. No allocation, no lock.
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
/// let text = fmt::layer().with_ansi(false).with_target(false).with_timer(Utc::<6>);
/// let json = fmt::layer().json().with_target(false).with_timer(Utc::<6>);
/// tracing_subscriber::registry().with(EventTime::new(text.and_then(json))).init();
///
/// tracing::info!("ready");
/// tracing::warn!("a request took long");
/// ```
///
/// It prints, for instance:
///
/// ```text
/// 2026-11-21T14:05:01.539097Z  INFO ready
/// {"timestamp":"2026-11-21T14:05:01.539097Z","level":"INFO","fields":{"message":"ready"}}
/// 2026-11-21T14:05:01.539157Z  WARN a request took long
/// {"timestamp":"2026-11-21T14:05:01.539157Z","level":"WARN","fields":{"message":"a request took long"}}
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct EventTime<L, C = SystemClock> {
    layer: L,
    clock: C,
    span_events: bool,
}

impl<L> EventTime<L> {
    /// Puts this layer around `layer`, with the system's clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::{EventTime, Utc};
    /// use tracing_subscriber::prelude::*;
    ///
    /// let layer = tracing_subscriber::fmt::layer().with_timer(Utc::<6>);
    /// tracing_subscriber::registry().with(EventTime::new(layer)).init();
    /// ```
    pub const fn new(layer: L) -> Self {
        Self { layer, clock: SystemClock, span_events: false }
    }
}

impl<L, C> EventTime<L, C> {
    /// Returns this layer with `clock` in place of the system's, whatever the clocks of the timers.
    ///
    /// An [`Uptime`](crate::Uptime) inside it needs the same clock.
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
    /// let layer = tracing_subscriber::fmt::layer().with_timer(Utc::<3>);
    /// tracing_subscriber::registry().with(EventTime::new(layer).with_clock(&CLOCK)).init();
    /// tracing::info!("1970-01-01T00:00:00.000Z, in a test");
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> EventTime<L, D> {
        EventTime { layer: self.layer, clock, span_events: self.span_events }
    }

    /// Returns this layer with a clock whose times never repeat, for programs that use timestamps as
    /// keys: no two events have the same time, and the later event has the later time.
    ///
    /// `DIGITS` is the number of digits of a second (0 to 9) that the inner timers print, or the least
    /// one if they differ. The clock is the one that
    /// [`Timer::strictly_increasing`](crate::Timer::strictly_increasing) gives to timers of as many
    /// digits.
    ///
    /// # Cost
    ///
    /// A write that all threads share, once an event.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::{EventTime, Utc};
    /// use tracing_subscriber::fmt;
    /// use tracing_subscriber::prelude::*;
    ///
    /// let text = fmt::layer().with_timer(Utc::<6>);
    /// let json = fmt::layer().json().with_timer(Utc::<6>);
    /// let layers = EventTime::new(text.and_then(json)).strictly_increasing::<6>();
    /// tracing_subscriber::registry().with(layers).init();
    /// ```
    #[must_use]
    pub fn strictly_increasing<const DIGITS: usize>(
        self,
    ) -> EventTime<L, &'static IncreasingClock> {
        const { increasing::assert_digits(DIGITS) };
        self.with_clock(increasing::clock(DIGITS))
    }

    /// Returns this layer so that each span event has one time as well: new, enter, exit and close.
    ///
    /// For layers that print span events, such as `fmt` layers with
    /// [`FmtSpan`](tracing_subscriber::fmt::format::FmtSpan).
    ///
    /// # Cost
    ///
    /// A read of the clock for each of the four.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::{EventTime, Utc};
    /// use tracing_subscriber::fmt::format::FmtSpan;
    /// use tracing_subscriber::prelude::*;
    ///
    /// let layer = tracing_subscriber::fmt::layer().with_timer(Utc::<6>).with_span_events(FmtSpan::NEW);
    /// tracing_subscriber::registry().with(EventTime::new(layer).with_span_events()).init();
    /// ```
    #[must_use]
    pub fn with_span_events(mut self) -> Self {
        self.span_events = true;
        self
    }
}

impl<L, C: Clock> EventTime<L, C> {
    /// Calls `f` at one time if span events are to have one.
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
    forward_to!(layer);

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
