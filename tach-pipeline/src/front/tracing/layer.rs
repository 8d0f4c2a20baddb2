//! The pipeline as a layer of a subscriber: events, and spans with their fields.

use core::iter;

use tracing_core::span::{Attributes, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Dispatch, Event, LevelFilter, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::fields::{interest, is_enabled, most};
use crate::pipeline::Pipeline;
use crate::trace::layers::Keys;
use crate::trace::slots::Number;

/// Logs events with their fields and the spans around them, with the spans' fields. The formats of
/// `tach-log` write the spans' names from the outermost to the innermost. A `message` that is not
/// the event's first field is a field. A value of the type `&dyn Error` is written with its
/// sources.
///
/// The pipeline's filter applies to all layers of the subscriber, to events and spans: a
/// refusal costs a load. Through [`Pipeline::layer`] it applies to the pipeline alone. A span's
/// field that is recorded again replaces the earlier value.
///
/// A pipeline may be a layer of several subscribers, such as the global one and one of
/// `with_default`. A span of one subscriber may have a parent of another one: the pipeline's span
/// that the thread is in. If the pipeline is within a `reload::Layer`, it must be there when the
/// subscriber is built: one that is put there later does not know the spans that are open, and may
/// be used in one subscriber only.
///
/// Records of `log` that the crate `tracing-log` forwards keep their targets, and filters see
/// these. They lose their fields, since that crate does not forward them.
///
/// # Examples
///
/// ```
/// use tach_pipeline::Pipeline;
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// let guard = Pipeline::builder().build()?;
/// let others = tracing_subscriber::fmt::layer();
/// let subscriber = tracing_subscriber::registry().with(guard.pipeline().clone()).with(others);
/// tracing::subscriber::set_global_default(subscriber)?;
/// guard.pipeline().set_logger()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<S> Layer<S> for Pipeline
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_layer(&mut self, _subscriber: &mut S) {
        self.keys = Keys::of_layer(self.id());
    }

    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        self.shared().filters.is_layer.on();
        self.keys.set_registry(subscriber);
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(self, metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>, _context: Context<'_, S>) -> bool {
        self.is_enabled_now(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(most(self))
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _context: Context<'_, S>) {
        // A span that another layer wants comes here too.
        if !is_enabled(self, attributes.metadata()) {
            return;
        }
        if let Some(span) = self.open_span(attributes) {
            if !self.layers().insert(self.keys.key(id.into_u64()), span) {
                // No entry is free, so nothing finds the span again. Remove its ids, so that its
                // close logs nothing.
                span.ids().remove();
                self.shared().spans.contexts.lose_end();
                self.lack_slot(Some(span));
            }
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _context: Context<'_, S>) {
        self.record_in(id, values);
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _context: Context<'_, S>) {
        self.link_spans(id, follows);
    }

    fn on_enter(&self, id: &Id, _context: Context<'_, S>) {
        self.enter_span(id);
    }

    fn on_exit(&self, id: &Id, _context: Context<'_, S>) {
        self.exit_span(id);
    }

    fn on_close(&self, id: Id, _context: Context<'_, S>) {
        let Some(span) = self.find(&id) else { return };
        self.layers().remove(self.keys.key(id.into_u64()));
        let parent = span.parent_number();
        self.close_span(span.number());
        // The registry releases the parent through the current subscriber. If another one is
        // current, nobody closes the parent.
        if let Some(parent) = parent.filter(|_| !self.keys.are_current()) {
            self.abandon(parent);
        }
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        self.log_event(event);
    }
}

impl Pipeline {
    /// Returns the pipeline as a layer of tracing whose filter applies to this layer alone, for a
    /// subscriber whose other layers need more than the pipeline accepts.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    /// use tracing_subscriber::layer::SubscriberExt as _;
    ///
    /// let guard = Pipeline::builder().filter("warn").build()?;
    /// let all = tracing_subscriber::fmt::layer();
    /// let subscriber = tracing_subscriber::registry().with(guard.pipeline().layer()).with(all);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        self.clone().with_filter(Alone(self.clone()))
    }

    /// Counts a span and its parents as spans that never close.
    #[cold]
    fn abandon(&self, span: Number) {
        let shared = self.shared();
        let spans = iter::successors(span.open(), |span| span.parent());
        for span in spans.filter(|span| self.target(*span).is_some() && span.ids().abandon()) {
            shared.progress.counts.unclosed.add(1);
            shared.spans.never_closes.set(span.metadata().map_or("", Metadata::name));
            shared.channel.wake();
        }
    }
}

/// The filter of a [`Pipeline::layer`].
struct Alone(Pipeline);

impl<S> Filter<S> for Alone {
    fn enabled(&self, metadata: &Metadata<'_>, _context: &Context<'_, S>) -> bool {
        self.0.is_enabled_now(metadata)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(&self.0, metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(most(&self.0))
    }
}
