//! The pipeline as a subscriber of its own, for programs without other layers.
//!
//! The registry of tracing-subscriber serves any number of layers: for each span it keeps a map of
//! what the layers know of the span. The pipeline alone needs no such map.

use tracing_core::span::{Attributes, Current, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Event, LevelFilter, Metadata, Subscriber};

use super::fields::{interest, most};
use crate::pipeline::Pipeline;
use crate::trace::current;
use crate::trace::layers::Keys;
use crate::trace::slots::Number;

impl Pipeline {
    /// Returns the pipeline as a subscriber of tracing, for a program without other layers.
    /// [`Builder::init`](crate::Builder::init) installs this subscriber.
    ///
    /// A span costs less than with a `Registry` of tracing-subscriber and the pipeline as its
    /// layer. A layer that needs a `Registry`, such as `tracing_error::ErrorLayer` or `fmt::layer`,
    /// can't be added, so `tracing_error::SpanTrace` is empty: use
    /// `registry().with(pipeline.clone())` and the other layers. A layer that needs none is not
    /// told when a parent closes because its last child has closed.
    ///
    /// A span that a thread has entered is open for as long as there are handles of it or children.
    /// At most 4,194,304 spans are open at once in the process. `Stats::dropped_spans` counts
    /// further ones. A span of another subscriber that is named as a parent is unknown here.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let guard = Pipeline::builder().sink(Sink::stderr()).build()?;
    /// let subscriber = guard.pipeline().subscriber();
    /// tracing::subscriber::with_default(subscriber, || tracing::info!("ready"));
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn subscriber(&self) -> impl Subscriber + Send + Sync + use<> {
        // Set the flag now: a subscriber in a `Box` is not told when it is registered.
        self.shared().filters.is_layer.on();
        PipelineSubscriber(Self { keys: Keys::of_subscriber(), ..self.clone() })
    }
}

/// See [`Pipeline::subscriber`].
pub(super) struct PipelineSubscriber(pub(super) Pipeline);

/// The id of a span for which there was no slot.
const NO_SLOT: u64 = u64::MAX;

impl Subscriber for PipelineSubscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(&self.0, metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.0.is_enabled_now(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(most(&self.0))
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let span = self.0.open_span(attributes);
        span.map_or_else(|| Id::from_u64(NO_SLOT), |it| Id::from_non_zero_u64(it.number().id()))
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        self.0.record_in(id, values);
    }

    fn record_follows_from(&self, id: &Id, follows: &Id) {
        self.0.link_spans(id, follows);
    }

    fn event(&self, event: &Event<'_>) {
        self.0.log_event(event);
    }

    fn enter(&self, id: &Id) {
        self.0.enter_span(id);
    }

    fn exit(&self, id: &Id) {
        self.0.exit_span(id);
    }

    fn clone_span(&self, id: &Id) -> Id {
        Number::of(id.into_non_zero_u64()).add_reference(self.0.keys.owner);
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        self.0.close_span(Number::of(id.into_non_zero_u64()))
    }

    fn drop_span(&self, id: Id) {
        self.try_close(id);
    }

    fn current_span(&self) -> Current {
        let current = current::of_owner(self.0.keys.owner).and_then(|span| {
            let metadata = span.metadata()?;
            Some(Current::new(Id::from_non_zero_u64(span.number().id()), metadata))
        });
        current.unwrap_or_else(Current::none)
    }
}
