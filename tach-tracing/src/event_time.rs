//! One event, one time.

mod occasion;

use tach_core::{Clock, IncreasingClock, SystemClock};
use tracing_core::span::{Attributes, Id};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use self::occasion::Occasion;
use crate::forward::forward_to;
use crate::timers::increasing_clock;

/// A layer around others that gives each event one time, which all of them print.
///
/// Two `fmt` layers ask their timers one after the other, so that the lines of one event differ. Around both
/// of them this layer reads the clock once an event, as a [`Stamp`](tach_core::Stamp), and keeps that pinned
/// to the thread while they handle the event. Every timer of this crate tells the stamp's time, and so does
/// all else that goes by [`Stamp::current`](tach_core::Stamp::current). Other timers don't know of it.
///
/// It takes any layer, or a stack of them: `a.and_then(b)`, an `Option`, a `Vec` of boxed layers, those with
/// filters of their own, and those that are reloaded. Filters may be within and around it. Layers of which
/// each has a filter go into a `Vec`: for `a.and_then(b)` right above the registry, tracing-subscriber 0.3.23
/// asks only `b` for the most verbose level that is wanted, with or without this layer around them.
///
/// # Guarantees
///
/// - All layers within see one time for an event, however long each of them takes.
/// - An event that is logged while another one is handled, by a field's `Display` for instance, has its own,
///   which is not earlier; the other one keeps the one that it had.
/// - Of several of these layers within each other the outermost gives the time. Side by side, each
///   gives its own.
/// - Where a stamp was pinned before the event came, by [`Stamp::during`](tach_core::Stamp::during), it is
///   kept: events that are told later than they happened have the time at which they did.
/// - After a panic of a layer within, no stamp is left behind.
///
/// Only events are stamped, unless [`with_span_events`](Self::with_span_events) asks for more: a line about a
/// span that is closed while an event is handled has the time at which it is printed.
///
/// # All layers within
///
/// A layer beside this one is told of nested events within the stamp of the outer one, and its timer prints
/// that. Put all layers that print within one `EventTime`.
///
/// # Timers that are strictly increasing
///
/// Within a stamp they print the stamp's time as all others do, so that two events may have the same: ask for
/// it here, by [`strictly_increasing`](Self::strictly_increasing), rather than of the timers.
///
/// # Two layers of text
///
/// Text layers keep a span's fields formatted in its extensions, by the type of their field formatter: of two
/// that have the same, the second prints what the first one formatted, with colours if that has them. Give
/// one of them [`fmt_fields`](tracing_subscriber::fmt::Layer::fmt_fields) of a type of its own.
///
/// # Cost
///
/// One read of the clock an event, instead of one for each layer, and some memory of the thread. No
/// allocation, no lock.
///
/// # Examples
///
/// Text for people and JSON for machines, of the same time (`cargo run --example event_time`):
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
    /// Around `layer`, by the system's clock.
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
    /// The same by `clock`, whatever clocks the timers within have.
    ///
    /// A timer that counts from a start, as [`Uptime`](crate::Uptime) does, needs the same clock.
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

    /// The same, of which no two events have the same time, and of two the later one the later time: for
    /// those who key on timestamps.
    ///
    /// `DIGITS` is the number of digits of a second (0 to 9) that the timers within print, or the least of
    /// several. It shares its clock with all timers of this process that print as many digits and are made by
    /// `strictly_increasing`, such as [`Utc::strictly_increasing`](crate::Utc::strictly_increasing).
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
        self.with_clock(increasing_clock::<DIGITS>())
    }

    /// The same, and what happens to a span has one time too: that it is new, entered, exited, closed.
    ///
    /// For layers that print it, such as `fmt` layers with
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
    /// Calls `f` at one time if what happens to spans is to have one, and else at none.
    #[inline]
    fn at_span_event(&self, occasion: Occasion, f: impl FnOnce()) {
        if self.span_events {
            occasion.at_one_time(&self.clock, f);
        } else {
            occasion.at_no_other_s_time(f);
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
        Occasion::of_event(event).at_one_time(&self.clock, || self.layer.on_event(event, context));
    }

    #[inline]
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        self.at_span_event(Occasion::New(id.into_u64()), || {
            self.layer.on_new_span(attributes, id, context);
        });
    }

    #[inline]
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        self.at_span_event(Occasion::Enter(id.into_u64()), || self.layer.on_enter(id, context));
    }

    #[inline]
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        self.at_span_event(Occasion::Exit(id.into_u64()), || self.layer.on_exit(id, context));
    }

    #[inline]
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.at_span_event(Occasion::Close(id.into_u64()), || self.layer.on_close(id, context));
    }
}
