//! The pipeline as a subscriber of its own, for programs without other layers.
//!
//! The registry of tracing-subscriber serves any number of layers: for each span it keeps a map of
//! what the layers know of the span. The pipeline alone needs no such map.

mod current;
mod free;
mod references;
mod slots;

use core::sync::atomic::{AtomicU32, Ordering};

use tracing_core::span::{Attributes, Current, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Event, LevelFilter, Metadata, Subscriber};

use self::slots::Number;
use super::enabled::{interest, is_enabled, most};
use super::kept::with_fields;
use crate::frame::{self, Writer};
use crate::pipeline::Pipeline;
use crate::trace::key::Key;

impl Pipeline {
    /// Returns the pipeline as a subscriber of tracing, for a program without other layers.
    /// [`Builder::init`](crate::Builder::init) installs this subscriber.
    ///
    /// A span costs less than with a `Registry` of tracing-subscriber and the pipeline as its layer.
    /// A layer that needs a `Registry`, such as `tracing_error::ErrorLayer` or `fmt::layer`, can't be
    /// added: use `registry().with(pipeline.clone())` and the other layers. A layer that needs none
    /// is not told when a parent closes because its last child has closed.
    ///
    /// At most 4,194,304 spans are open at once in the process. `Stats::dropped_spans` counts further
    /// ones. A span of another subscriber that is named as a parent is unknown here.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let pipeline = Pipeline::builder().sink(Sink::stderr()).build()?;
    /// tracing::subscriber::with_default(pipeline.subscriber(), || tracing::info!("ready"));
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn subscriber(&self) -> impl Subscriber + Send + Sync + use<> {
        PipelineSubscriber::new(self.clone())
    }
}

/// See [`Pipeline::subscriber`].
pub(super) struct PipelineSubscriber {
    pub(super) pipeline: Pipeline,
    /// A number that no other subscriber has.
    number: u32,
}

/// The id of a span for which there was no slot.
const NO_SLOT: u64 = u64::MAX;

impl PipelineSubscriber {
    fn new(mut pipeline: Pipeline) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        pipeline.begin_layer();
        // Not when the subscriber is registered: one in a `Box` is not told of it.
        pipeline.shared().filters.is_layer.on();
        // ORDERING: Relaxed: only the number counts.
        Self { pipeline, number: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    #[inline]
    fn key(&self, span: Number) -> Key {
        self.pipeline.key(&Id::from_non_zero_u64(span.id()))
    }

    /// Returns the innermost span that the thread is in.
    #[inline]
    fn current(&self) -> Option<Number> {
        current::get(self.number)
    }

    /// Returns the span that an event or a new span is in.
    #[inline]
    fn around(&self, named: Option<&Id>, is_contextual: bool) -> Option<Number> {
        match named {
            Some(id) => Some(number(id)),
            None if is_contextual => self.current(),
            None => None,
        }
    }

    /// Removes a reference to a span. Returns whether it was the last one. Then the span is closed,
    /// and its reference to its parent is removed too.
    fn close(&self, mut span: Number) -> bool {
        let Some(mut closing) = span.remove_reference(self.number) else { return false };
        loop {
            self.pipeline.end_span(self.key(span));
            let Some(parent) = closing.free() else { return true };
            let Some(parent_closing) = parent.remove_reference(self.number) else { return true };
            (span, closing) = (parent, parent_closing);
        }
    }

    /// Writes the names and the fields of the spans that the thread is in.
    pub(super) fn write_current_spans(&self, to: &mut Writer<'_>) {
        if self.pipeline.shared().wanted.events {
            self.current().into_iter().for_each(|span| self.write_span(span, to));
        }
    }

    /// Writes the names and the fields of a span and its parents, from the outermost one.
    fn write_span(&self, span: Number, to: &mut Writer<'_>) {
        let Some(span) = span.open(self.number) else { return };
        if let Some(parent) = span.parent() {
            self.write_span(parent, to);
        }
        span.with(|metadata, fields| {
            to.spans();
            to.span(metadata.name());
            to.fields(fields);
        });
    }

    /// Counts a span for which there is no slot, if the pipeline records spans.
    #[cold]
    fn no_slot(&self) -> Id {
        let shared = self.pipeline.shared();
        if shared.spans.contexts.is_some() {
            shared.channel.progress.counts.dropped_spans.add(1);
        }
        Id::from_u64(NO_SLOT)
    }
}

fn number(id: &Id) -> Number {
    Number::of(id.into_non_zero_u64())
}

impl Subscriber for PipelineSubscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(&self.pipeline, metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_enabled(&self.pipeline, metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(most(&self.pipeline))
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let around = self.around(attributes.parent(), attributes.is_contextual());
        let parent = around.filter(|parent| parent.add_reference(self.number));
        let Some((number, span)) = slots::open(self.number, attributes.metadata(), parent) else {
            if let Some(parent) = parent {
                self.close(parent);
            }
            return self.no_slot();
        };
        let id = Id::from_non_zero_u64(number.id());
        if self.pipeline.begin_span(attributes, &id) && !attributes.is_empty() {
            with_fields(
                |visitor| attributes.record(visitor),
                |fields| span.change_fields(|kept| kept.extend_from_slice(fields)),
            );
        }
        id
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        self.pipeline.record_values(self.pipeline.key(id), values);
        if !self.pipeline.shared().wanted.events {
            return;
        }
        let Some(span) = number(id).open(self.number) else { return };
        with_fields(
            |visitor| values.record(visitor),
            |more| span.change_fields(|kept| frame::replace(kept, more)),
        );
    }

    fn record_follows_from(&self, id: &Id, follows: &Id) {
        self.pipeline.link_spans(self.pipeline.key(id), self.pipeline.key(follows));
    }

    fn event(&self, event: &Event<'_>) {
        self.pipeline.log_event(event, |to| {
            if let Some(span) = self.around(event.parent(), event.is_contextual()) {
                self.write_span(span, to);
            }
        });
    }

    fn enter(&self, id: &Id) {
        if number(id).open(self.number).is_some() {
            current::enter(self.number, number(id));
        }
        self.pipeline.enter_span(self.pipeline.key(id));
    }

    fn exit(&self, id: &Id) {
        current::exit(self.number, number(id));
        self.pipeline.exit_span(self.pipeline.key(id));
    }

    fn clone_span(&self, id: &Id) -> Id {
        number(id).add_reference(self.number);
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        self.close(number(&id))
    }

    fn drop_span(&self, id: Id) {
        self.close(number(&id));
    }

    fn current_span(&self) -> Current {
        let current = self.current().and_then(|number| {
            let metadata = number.open(self.number)?.metadata()?;
            Some(Current::new(Id::from_non_zero_u64(number.id()), metadata))
        });
        current.unwrap_or_else(Current::none)
    }
}
