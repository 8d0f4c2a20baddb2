//! The pipeline as a layer of a subscriber: events, and spans with their fields.

use core::iter;

use tracing_core::span::{Attributes, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Dispatch, Event, LevelFilter, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter, Layer};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::enabled::{interest, is_enabled, most};
use super::span_fields::{Kept, NAMELESS, with_fields, write_spans};
use crate::frame;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::key::Key;
use crate::trace::otel::active::Active;
use crate::trace::{Slot, current};

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
        self.begin_layer();
    }

    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        self.shared().filters.is_layer.on();
        self.set_subscriber(subscriber);
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(self, metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>, _context: Context<'_, S>) -> bool {
        is_enabled(self, metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(most(self))
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().name().is_empty() {
            NAMELESS.on();
        }
        let named = attributes.parent().map(|id| self.key_within(id, &context));
        let within = |shared: &Shared| shared.within(named, attributes.is_contextual());
        if !self.begin_span(attributes, self.key(id), within) {
            return;
        }
        let Some(span) = context.span(id) else { return };
        with_fields(
            |visitor| attributes.record(visitor),
            |fields| {
                let mut extensions = span.extensions_mut();
                if extensions.get_mut::<Kept>().is_none() {
                    extensions.insert(Kept::new(self, fields));
                }
            },
        );
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        self.record_values(self.key(id), values);
        if !self.shared().wanted.events {
            return;
        }
        let Some(span) = context.span(id) else { return };
        with_fields(
            |visitor| values.record(visitor),
            |more| {
                let mut extensions = span.extensions_mut();
                match extensions.get_mut::<Kept>() {
                    Some(kept) if kept.by == self.id() => frame::replace(&mut kept.fields, more),
                    Some(_) => {}
                    None => extensions.insert(Kept::new(self, more)),
                }
            },
        );
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _context: Context<'_, S>) {
        self.link_spans(self.key(id), self.key(follows));
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let (shared, key) = (self.shared(), self.key(id));
        let contexts = &shared.spans.contexts;
        if let Some(slot) = contexts.find(key) {
            let active = self.activate(key, None, slot, || context.metadata(id));
            current::enter(shared.spans.id, key, slot.context(), active);
        } else if NAMELESS.is_on() {
            if let Some(around) = contexts.get(self.key_within(id, &context)) {
                current::enter(shared.spans.id, key, around, Active::unrecorded());
            }
        }
    }

    fn on_exit(&self, id: &Id, _context: Context<'_, S>) {
        let (shared, key) = (self.shared(), self.key(id));
        if shared.spans.contexts.are_unused() {
            return;
        }
        current::exit(shared.spans.id, key);
        if let Some(slot) = shared.spans.contexts.find(key) {
            self.leave(shared, key, slot);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let shared = self.shared();
        let slot = shared.spans.contexts.find(self.key(&id));
        let is_child = slot.is_some_and(|slot| Self::end_span(shared, slot, None));
        // The registry releases the parent through the current subscriber.
        if is_child && !self.is_subscriber_current() {
            self.abandon_parents(&id, &context);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let named = event.parent().map(|id| self.key_within(id, &context));
        let around = |shared: &Shared| {
            shared.around_event(event, shared.within(named, event.is_contextual()))
        };
        self.log_event(event, around, |to| write_spans(event, &context, to));
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

    /// Returns the key of a span, or of the nearest one with a name that it is in.
    #[inline]
    fn key_within<S>(&self, id: &Id, context: &Context<'_, S>) -> Key
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        if !NAMELESS.is_on() {
            return self.key(id);
        }
        let mut spans = iter::successors(context.span(id), SpanRef::parent);
        let named = spans.find(|span| !span.name().is_empty());
        self.key(&named.map_or_else(|| id.clone(), |span| span.id()))
    }

    /// Counts the parents of a span as spans that never close.
    #[cold]
    fn abandon_parents<S>(&self, id: &Id, context: &Context<'_, S>)
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let shared = self.shared();
        let abandon =
            |parent: &SpanRef<'_, S>| self.slot(self.key(&parent.id())).is_some_and(Slot::abandon);
        let parents = iter::successors(context.span(id), SpanRef::parent).skip(1);
        for parent in parents.filter(abandon) {
            shared.progress.counts.unclosed.add(1);
            shared.spans.never_closes.set(parent.name());
            shared.channel.wake();
        }
    }
}

/// The filter of a [`Pipeline::layer`].
struct Alone(Pipeline);

impl<S> Filter<S> for Alone {
    fn enabled(&self, metadata: &Metadata<'_>, _context: &Context<'_, S>) -> bool {
        is_enabled(&self.0, metadata)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(&self.0, metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(most(&self.0))
    }
}
