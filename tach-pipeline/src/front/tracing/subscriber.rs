//! The pipeline as a subscriber of its own, for programs without other layers.
//!
//! The registry of tracing-subscriber serves any number of layers: each span has a slot in a slab
//! that is cleared and locked, a map for what layers keep, and a second count of its parents. One
//! layer needs none of that.

mod current;
mod free;
mod references;
mod slots;

use tracing_core::span::{Attributes, Current, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Event, LevelFilter, Metadata, Subscriber};

use self::slots::Number;
use super::enabled::{interest, is_enabled, most};
use super::kept::with_fields;
use crate::frame::{self, Writer};
use crate::pipeline::Pipeline;

impl Pipeline {
    /// Returns the pipeline as a subscriber of tracing, for a program without other layers.
    /// [`Builder::init`](crate::Builder::init) installs such a one.
    ///
    /// A span costs less than with a `Registry` and the pipeline as its layer: this subscriber has
    /// no `Registry`. So other layers can't be added to it, and what looks for a `Registry` in it
    /// finds none: `tracing_error::SpanTrace` is empty.
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
        let mut pipeline = self.clone();
        pipeline.begin_layer();
        // Not when the subscriber is registered: one in a `Box` is not told of it.
        pipeline.shared().filters.is_layer.on();
        PipelineSubscriber(pipeline)
    }
}

/// See [`Pipeline::subscriber`].
pub(super) struct PipelineSubscriber(pub(super) Pipeline);

/// The id of a span for which there was no slot.
const NO_SLOT: u64 = u64::MAX;

impl PipelineSubscriber {
    /// Returns the innermost span that the thread is in.
    #[inline]
    fn current(&self) -> Option<Number> {
        current::get(self.number())
    }

    /// Returns a number that no other subscriber has.
    #[inline]
    fn number(&self) -> u64 {
        self.0.subscriber_number()
    }

    /// Returns the span that an event or a new span is in.
    #[inline]
    fn around(&self, named: Option<&Id>, is_contextual: bool) -> Option<Number> {
        match named {
            Some(id) => Some(Number::of(id.into_non_zero_u64())),
            None if is_contextual => self.current(),
            None => None,
        }
    }

    /// Writes the names and the fields of the spans that the thread is in.
    pub(super) fn write_current_spans(&self, to: &mut Writer<'_>) {
        if let Some(span) = self.current() {
            write_span(span, to);
        }
    }
}

/// Writes the names and the fields of a span and its parents, from the outermost one.
fn write_span(span: Number, to: &mut Writer<'_>) {
    let Some(slot) = span.open_slot() else { return };
    if let Some(parent) = slot.parent() {
        write_span(parent, to);
    }
    slot.with(|metadata, fields| {
        to.spans();
        to.span(metadata.name());
        to.fields(fields);
    });
}

impl Subscriber for PipelineSubscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(&self.0, metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_enabled(&self.0, metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(most(&self.0))
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let around = self.around(attributes.parent(), attributes.is_contextual());
        let parent = around.filter(|parent| parent.add_reference());
        let Some((number, slot)) = slots::open(attributes.metadata(), parent) else {
            self.0.shared().channel.progress.counts.dropped_spans.add(1);
            return Id::from_u64(NO_SLOT);
        };
        let id = Id::from_non_zero_u64(number.id());
        if self.0.begin_span(attributes, &id) {
            with_fields(
                |visitor| attributes.record(visitor),
                |fields| slot.change_fields(|kept| kept.extend_from_slice(fields)),
            );
        }
        id
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        self.0.record_values(self.0.key(id), values);
        if !self.0.shared().wanted.events {
            return;
        }
        let Some(slot) = Number::of(id.into_non_zero_u64()).open_slot() else { return };
        with_fields(
            |visitor| values.record(visitor),
            |more| slot.change_fields(|kept| frame::replace(kept, more)),
        );
    }

    fn record_follows_from(&self, id: &Id, follows: &Id) {
        self.0.link_spans(self.0.key(id), self.0.key(follows));
    }

    fn event(&self, event: &Event<'_>) {
        self.0.log_event(event, |to| {
            if let Some(span) = self.around(event.parent(), event.is_contextual()) {
                write_span(span, to);
            }
        });
    }

    fn enter(&self, id: &Id) {
        current::enter(self.number(), Number::of(id.into_non_zero_u64()));
        self.0.enter_span(self.0.key(id));
    }

    fn exit(&self, id: &Id) {
        current::exit(self.number(), Number::of(id.into_non_zero_u64()));
        self.0.exit_span(self.0.key(id));
    }

    fn clone_span(&self, id: &Id) -> Id {
        Number::of(id.into_non_zero_u64()).add_reference();
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut span = Number::of(id.into_non_zero_u64());
        let Some(mut closing) = span.remove_reference() else { return false };
        loop {
            self.0.end_span(self.0.key(&Id::from_non_zero_u64(span.id())));
            let Some(parent) = closing.free() else { return true };
            let Some(parent_closing) = parent.remove_reference() else { return true };
            (span, closing) = (parent, parent_closing);
        }
    }

    fn current_span(&self) -> Current {
        let current = self.current().and_then(|number| {
            let metadata = number.open_slot()?.metadata()?;
            Some(Current::new(Id::from_non_zero_u64(number.id()), metadata))
        });
        current.unwrap_or_else(Current::none)
    }
}
