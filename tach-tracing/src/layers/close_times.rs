//! Lines with the durations of closed spans.

mod rounded;

use tracing_core::field::{FieldSet, Value, display};
use tracing_core::span::{Attributes, Id};
use tracing_core::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use self::rounded::Rounded;
use super::forward::forward_to;
use super::poison::unless_poisoned;
use super::span_timing::{SpanClock, SpanTimes, begin, change};

/// A layer that makes the `fmt` layers inside it print a line when a span closes, with the time
/// that the span was busy and idle.
///
/// The line is the one that [`FmtSpan::CLOSE`] prints, in every format: an event of the span's
/// level and target with the message `close` and the fields `time.busy` and `time.idle`. The
/// durations are printed even if lines have no timestamp. A span that is older than this layer has
/// the message alone. A span with [poisoned extensions](crate::SpanTiming#guarantees) has no line,
/// because the `fmt` layer would panic.
///
/// A [`SpanTiming`](crate::SpanTiming) in the same subscriber measures the spans, by its clock.
/// Without one, this layer measures them, by the system's clock.
///
/// # Order of layers
///
/// Per-layer filters go around this layer: every filter works there. A filter inside is asked again
/// when the span closes, and a span that it then hides has no line. So use only filters there that
/// always have one answer for a span, such as levels and targets: not `reload`, and not an
/// `EnvFilter` with spans. And if a span closes in the arguments of an event's macro, a filter
/// inside forgets its answer for that event, which may be printed although it is hidden.
///
/// ```
/// use tach_tracing::{CloseTimes, Utc};
/// use tracing_subscriber::filter::LevelFilter;
/// use tracing_subscriber::prelude::*;
///
/// let lines = CloseTimes::new(tracing_subscriber::fmt::layer().with_timer(Utc));
/// tracing_subscriber::registry().with(lines.with_filter(LevelFilter::INFO)).init();
/// ```
///
/// For one timestamp in all lines of a closed span, put an
/// [`EventTimeLayer`](crate::EventTimeLayer) with span events around the layers, as in the example
/// of the [crate](crate#layers).
///
/// [`FmtSpan::CLOSE`]: tracing_subscriber::fmt::format::FmtSpan::CLOSE
#[derive(Debug, Clone, Copy, Default)]
pub struct CloseTimes<L> {
    layer: L,
}

impl<L> CloseTimes<L> {
    /// Wraps `layer`: a `fmt` layer, or several joined by `and_then`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::{CloseTimes, Uptime};
    /// use tracing_subscriber::prelude::*;
    ///
    /// let lines = CloseTimes::new(tracing_subscriber::fmt::layer().with_timer(Uptime));
    /// tracing_subscriber::registry().with(lines).init();
    /// ```
    pub const fn new(layer: L) -> Self {
        Self { layer }
    }

    /// Passes an event in the span `id` to the inner layer, if the filters in it enable the event.
    fn emit<S, const N: usize>(
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
        if !self.layer.enabled(metadata, context.clone()) {
            return;
        }
        let fields = FieldSet::new(names, metadata.callsite());
        let values = values.map(Some);
        let values = fields.value_set_all(&values);
        let event = Event::new_child_of(id, metadata, &values);
        if self.layer.event_enabled(&event, context.clone()) {
            self.layer.on_event(&event, context);
        }
    }
}

impl<S, L> Layer<S> for CloseTimes<L>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    L: Layer<S>,
{
    forward_to!(layer);

    #[inline]
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        self.layer.on_event(event, context);
    }

    #[inline]
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        begin(id, &context, |extensions| {
            if extensions.get_mut::<SpanTimes>().is_none() {
                extensions.insert(SpanTimes::new(SpanClock::SYSTEM));
            }
        });
        self.layer.on_new_span(attributes, id, context);
    }

    /// A `SpanTiming` may have counted this enter already. Then the thread is inside twice, and
    /// only its last exit counts.
    #[inline]
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        change(id, &context, SpanTimes::enter);
        self.layer.on_enter(id, context);
    }

    #[inline]
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        change(id, &context, SpanTimes::exit);
        self.layer.on_exit(id, context);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        // The span and its extensions are released before the inner layer uses them.
        let closed = context.span(&id).and_then(|span| {
            let mut extensions = unless_poisoned(|| span.extensions_mut())?;
            let times = extensions.get_mut::<SpanTimes>();
            Some((span.metadata(), times.map(SpanTimes::close)))
        });
        match closed {
            None => {}
            Some((metadata, None)) => {
                let message = [&format_args!("close") as &dyn Value];
                self.emit(id.clone(), metadata, &["message"], message, context.clone());
            }
            Some((metadata, Some(times))) => {
                let (busy, idle) = (display(Rounded(times.busy)), display(Rounded(times.idle)));
                let names = &["message", "time.busy", "time.idle"];
                // No `&str`, which tracing-tree prints in quotes.
                let values = [&format_args!("close") as &dyn Value, &busy, &idle];
                self.emit(id.clone(), metadata, names, values, context.clone());
            }
        }
        self.layer.on_close(id, context);
    }
}
