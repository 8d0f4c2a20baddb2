//! The pipeline as a layer of a subscriber: events, and spans with their fields.

use core::iter;

use tracing_core::span::{Attributes, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Dispatch, Event, LevelFilter, Metadata, Subscriber};
use tracing_log::NormalizeEvent as _;
use tracing_subscriber::layer::{Context, Filter, Layer};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::kept::{Kept, write_spans};
use super::metadata::{callsite, given_name, level, place};
use super::visit::{Forwarded, Visitor};
use crate::filter::Filters;
use crate::frame;
use crate::frame::texts::MaybeStatic;
use crate::level::Level;
use crate::pipeline::Pipeline;

/// The target of events that `tracing-log` makes of the records of `log`.
const FORWARDED: &str = "log";

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
/// let pipeline = Pipeline::builder().build()?;
/// let others = tracing_subscriber::fmt::layer();
/// let subscriber = tracing_subscriber::registry().with(pipeline.clone()).with(others);
/// tracing::subscriber::set_global_default(subscriber)?;
/// pipeline.set_logger()?;
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
        // A span that another layer wants comes here too.
        let metadata = attributes.metadata();
        if !is_enabled(self, metadata) {
            return;
        }
        if self.shared().filters.is_span_recorded(level(metadata), metadata.target()) {
            self.start_span(attributes, id);
        }
        if !self.shared().wanted.events {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let mut kept = Kept::by(self);
        kept.add(|visitor| attributes.record(visitor));
        let mut extensions = span.extensions_mut();
        if extensions.get_mut::<Kept>().is_none() {
            extensions.insert(kept);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        self.record_values(self.key(id), values);
        if !self.shared().wanted.events {
            return;
        }
        let Some(span) = context.span(id) else { return };
        // The values are visited before the lock is taken: a value that is printed may log.
        let mut more = Kept::by(self);
        more.add(|visitor| values.record(visitor));
        let mut extensions = span.extensions_mut();
        match extensions.get_mut::<Kept>() {
            Some(kept) if kept.by == more.by => frame::replace(&mut kept.fields, &more.fields),
            Some(_) => {}
            None => extensions.insert(more),
        }
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _context: Context<'_, S>) {
        self.link_spans(self.key(id), self.key(follows));
    }

    fn on_enter(&self, id: &Id, _context: Context<'_, S>) {
        self.enter_span(self.key(id));
    }

    fn on_exit(&self, id: &Id, _context: Context<'_, S>) {
        self.exit_span(self.key(id));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let is_child = self.end_span(self.key(&id));
        // The registry releases the parent through the current subscriber.
        if is_child && !self.is_subscriber_current() {
            self.abandon_parents(&id, &context);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        if metadata.target() == FORWARDED && event.is_log() {
            return self.on_forwarded(event, &context);
        }
        if !is_enabled(self, metadata) || !self.shared().is_within_limit(|| callsite(metadata)) {
            return;
        }
        let level = level(metadata);
        let wanted = self.shared().wanted;
        let around = self.around_event(event);
        if !wanted.events
            && !around.is_some_and(|span| span.is_own && span.context.is_sampled)
            && !wanted.recorder
        {
            // No sink, span or recorder takes the event.
            return;
        }
        self.log_with(level, MaybeStatic::Static(metadata.target()), |to| {
            event.record(&mut Visitor::of_event(to));
            if wanted.events {
                write_spans(event, &context, to);
            }
            if wanted.is_any() {
                to.site(wanted, place(metadata, MaybeStatic::Static), around);
                if let Some(name) = given_name(metadata) {
                    to.event_name(name);
                }
            }
        });
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
    /// let pipeline = Pipeline::builder().filter("warn").build()?;
    /// let all = tracing_subscriber::fmt::layer();
    /// let subscriber = tracing_subscriber::registry().with(pipeline.layer()).with(all);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        self.clone().with_filter(Alone(self.clone()))
    }

    /// Counts the parents of a span as spans that never close.
    #[cold]
    fn abandon_parents<S>(&self, id: &Id, context: &Context<'_, S>)
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let shared = self.shared();
        let Some(contexts) = shared.spans.contexts.as_ref() else { return };
        let parents = iter::successors(context.span(id), SpanRef::parent).skip(1);
        for parent in parents.filter(|parent| contexts.abandon(self.key(&parent.id()))) {
            shared.channel.progress.counts.unclosed.add(1);
            shared.spans.never_closes.set(parent.name());
        }
    }

    /// Logs a record of `log` that `tracing-log` made an event.
    #[cold]
    fn on_forwarded<S>(&self, event: &Event<'_>, context: &Context<'_, S>)
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let Some(metadata) = event.normalized_metadata() else { return };
        if !is_enabled(self, &metadata) {
            return;
        }
        let wanted = self.shared().wanted;
        self.log_with(level(&metadata), MaybeStatic::Borrowed(metadata.target()), |to| {
            event.record(&mut Forwarded(Visitor::of_event(to)));
            if wanted.events {
                write_spans(event, context, to);
            }
            if wanted.is_any() {
                to.site(wanted, place(&metadata, MaybeStatic::Borrowed), self.around_event(event));
            }
        });
    }
}

impl Filters {
    /// Returns whether an enabled span is recorded. Unlike a record, a span is not kept for a
    /// backtrace.
    #[inline]
    fn is_span_recorded(&self, level: Level, target: &str) -> bool {
        self.kept.is_none() || self.are_written(level, target)
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

fn is_enabled(pipeline: &Pipeline, metadata: &Metadata<'_>) -> bool {
    pipeline.shared().filters.enabled(level(metadata), metadata.target())
}

/// Returns an answer that `tracing` may cache until the filter changes.
fn interest(pipeline: &Pipeline, metadata: &Metadata<'_>) -> Interest {
    if is_enabled(pipeline, metadata) { Interest::always() } else { Interest::never() }
}

fn most(pipeline: &Pipeline) -> LevelFilter {
    match pipeline.shared().filters.most() {
        log::LevelFilter::Off => LevelFilter::OFF,
        log::LevelFilter::Error => LevelFilter::ERROR,
        log::LevelFilter::Warn => LevelFilter::WARN,
        log::LevelFilter::Info => LevelFilter::INFO,
        log::LevelFilter::Debug => LevelFilter::DEBUG,
        log::LevelFilter::Trace => LevelFilter::TRACE,
    }
}
