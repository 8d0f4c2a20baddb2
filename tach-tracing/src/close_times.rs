//! Lines that tell how long a span was busy and idle.

mod rounded;

use tach_core::{Clock, SystemClock};
use tracing_core::field::{FieldSet, Value, display};
use tracing_core::span::{Attributes, Id};
use tracing_core::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use self::rounded::Rounded;
use crate::forward::forward_to;
use crate::poison::unless_poisoned;
use crate::span_timing::SpanTimes;

/// A layer around `fmt` layers that has them print a line when a span is closed, with the times that
/// [`SpanTiming`](crate::SpanTiming) measured.
///
/// The line is that of [`FmtSpan::CLOSE`](tracing_subscriber::fmt::format::FmtSpan::CLOSE), in every
/// format: an event of the span's level and target whose message is `close`, with `time.busy` and
/// `time.idle`. Here they are by tach's clock, or by any other, and are printed also where lines have no
/// timestamp. Of a span without times only the message is printed, and of one whose extensions are poisoned
/// (see [`SpanTiming`](crate::SpanTiming#guarantees)) nothing: a `fmt` layer would panic.
///
/// # Order of layers
///
/// `SpanTiming` may come before or after this layer. Per-layer filters go around this layer, never around one
/// within: there they are asked once for the closed span and its line, so that lines appear for spans which
/// they hide, and without the span's name.
///
/// ```
/// use tach_tracing::{CloseTimes, SpanTiming, Utc};
/// use tracing_subscriber::filter::LevelFilter;
/// use tracing_subscriber::prelude::*;
///
/// let lines = CloseTimes::new(tracing_subscriber::fmt::layer().with_timer(Utc::<6>));
/// tracing_subscriber::registry()
///     .with(SpanTiming::new())
///     .with(lines.with_filter(LevelFilter::INFO))
///     .init();
/// ```
///
/// Several of these side by side print the same times of a span. That all lines of a closed span have one
/// timestamp, too, takes an [`EventTime`](crate::EventTime) around them, with its span events:
/// `EventTime::new(CloseTimes::new(a).with_filter(f).and_then(CloseTimes::new(b))).with_span_events()`. In
/// `CloseTimes::new(EventTime::new(a.and_then(b)))`, which does the same without filters, none of the layers
/// may have one.
///
/// # Cost
///
/// That of the line.
#[derive(Debug, Clone, Copy, Default)]
pub struct CloseTimes<L, C = SystemClock> {
    layer: L,
    clock: C,
}

impl<L> CloseTimes<L> {
    /// Around `layer`, which prints events: a `fmt` layer, or several by `and_then`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::{CloseTimes, SpanTiming, Uptime};
    /// use tracing_subscriber::prelude::*;
    ///
    /// let lines = CloseTimes::new(tracing_subscriber::fmt::layer().with_timer(Uptime));
    /// tracing_subscriber::registry().with(SpanTiming::new()).with(lines).init();
    /// ```
    pub const fn new(layer: L) -> Self {
        Self { layer, clock: SystemClock }
    }
}

impl<L, C> CloseTimes<L, C> {
    /// The same by `clock`, which must be that of [`SpanTiming`](crate::SpanTiming).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_tracing::{CloseTimes, SpanTiming};
    /// use tracing_subscriber::prelude::*;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let lines = CloseTimes::new(tracing_subscriber::fmt::layer()).with_clock(&CLOCK);
    /// tracing_subscriber::registry()
    ///     .with(SpanTiming::new().with_clock(&CLOCK))
    ///     .with(lines)
    ///     .init();
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> CloseTimes<L, D> {
        CloseTimes { layer: self.layer, clock }
    }

    /// Tells the layer within of an event in the span `id`, with these fields.
    fn tell<S, const N: usize>(
        &self,
        id: Id,
        metadata: &'static Metadata<'static>,
        names: &'static [&'static str; N],
        values: [&dyn Value; N],
        context: Context<'_, S>,
    ) where
        S: Subscriber,
        L: Layer<S>,
    {
        let fields = FieldSet::new(names, metadata.callsite());
        let values = values.map(Some);
        self.layer
            .on_event(&Event::new_child_of(id, metadata, &fields.value_set_all(&values)), context);
    }
}

impl<S, L, C> Layer<S> for CloseTimes<L, C>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    L: Layer<S>,
    C: Clock + 'static,
{
    forward_to!(layer);

    #[inline]
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        self.layer.on_event(event, context);
    }

    #[inline]
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        self.layer.on_new_span(attributes, id, context);
    }

    #[inline]
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        self.layer.on_enter(id, context);
    }

    #[inline]
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        self.layer.on_exit(id, context);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        // Neither the span nor its extensions are held on to while the layer within looks at them.
        let closed = context.span(&id).and_then(|span| {
            let mut extensions = unless_poisoned(|| span.extensions_mut())?;
            let times = extensions.get_mut::<SpanTimes>();
            Some((span.metadata(), times.map(|times| times.close(&self.clock))))
        });
        match closed {
            None => {}
            Some((metadata, None)) => {
                self.tell(id.clone(), metadata, &["message"], [&"close"], context.clone());
            }
            Some((metadata, Some(times))) => {
                let (busy, idle) = (display(Rounded(times.busy())), display(Rounded(times.idle())));
                let names = &["message", "time.busy", "time.idle"];
                self.tell(id.clone(), metadata, names, [&"close", &busy, &idle], context.clone());
            }
        }
        self.layer.on_close(id, context);
    }
}
