//! The pipeline as a subscriber of its own, for programs without other layers.
//!
//! The registry of tracing-subscriber serves any number of layers: for each span it keeps a map of
//! what the layers know of the span. The pipeline alone needs no such map.

use core::sync::atomic::{AtomicU32, Ordering};

use tracing_core::span::{Attributes, Current, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Event, LevelFilter, Metadata, Subscriber};

use super::enabled::{interest, is_enabled, most};
use super::metadata::level;
use super::span_fields::{MOST, NAMELESS, with_fields, write_around};
use crate::callsites::{self, Callsite};
use crate::frame::{self, Code, Writer};
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::current::{self, Innermost};
use crate::trace::key::Key;
use crate::trace::otel::active::Active;
use crate::trace::slots::{self, Closing, Number, Open};

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
        PipelineSubscriber::new(self.clone())
    }
}

/// See [`Pipeline::subscriber`].
pub(super) struct PipelineSubscriber {
    pub(super) pipeline: Pipeline,
    /// A number that no other subscriber has. (A program that makes a subscriber each millisecond has
    /// numbers for 50 days. Two subscribers of one number would share their spans.)
    number: u32,
}

/// The id of a span for which there was no slot.
const NO_SLOT: u64 = u64::MAX;

impl PipelineSubscriber {
    fn new(pipeline: Pipeline) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        // Not when the subscriber is registered: one in a `Box` is not told of it.
        pipeline.shared().filters.is_layer.on();
        // ORDERING: Relaxed: only the number counts.
        Self { pipeline, number: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    #[inline]
    pub(super) fn key(&self, span: Number) -> Key {
        Key { subscriber: self.number, number: span.id().get() }
    }

    /// Returns the span that a new span or an event is in.
    #[inline]
    fn around(&self, named: Option<&Id>, is_contextual: bool) -> Option<Open> {
        match named {
            None if is_contextual => current::own(self.number),
            None => None,
            Some(id) => number(id).open(self.number),
        }
    }

    /// Returns the ids of the pipeline's span that a new span or an event is in.
    #[inline(never)]
    fn within(
        &self,
        shared: &Shared,
        named: Option<&Id>,
        is_contextual: bool,
    ) -> Option<SpanContext> {
        let named = named.map(|id| self.key(number(id)));
        let own = shared.within(named, is_contextual);
        own.or_else(|| shared.spans.contexts.lent(slots::ids(named?)?, named?.number))
    }

    /// Opens a span without a name, which has the ids of the span that it is in.
    #[cold]
    fn nameless_span(&self, attributes: &Attributes<'_>) -> Id {
        NAMELESS.on();
        let (shared, metadata) = (self.pipeline.shared(), attributes.metadata());
        let (named, is_contextual) = (attributes.parent(), attributes.is_contextual());
        let code = callsites::code(Callsite(metadata));
        let parent = self.around(named, is_contextual).filter(|parent| parent.add_reference());
        let Some(span) = slots::open(self.number, Some(metadata), code, parent) else {
            return self.no_slot(parent);
        };
        if let Some(context) = self.within(shared, named, is_contextual) {
            shared.spans.contexts.lend(span.ids(), span.number().id().get(), &context);
        }
        keep_fields(shared, attributes, span);
        Id::from_non_zero_u64(span.number().id())
    }

    /// Returns the innermost span that the thread is in.
    #[inline]
    fn innermost(&self, shared: &Shared, is_contextual: bool, is_root: bool) -> Innermost {
        match (is_contextual, is_root) {
            (true, _) => current::innermost(shared.spans.id, self.number),
            (_, true) => Innermost::None,
            _ => Innermost::Other,
        }
    }

    /// Removes a reference to a span. Returns whether it was the last one. Then the span is closed,
    /// and its reference to its parent is removed too.
    #[inline(never)]
    fn close(&self, mut span: Number) -> bool {
        let Some(mut closing) = span.remove_reference(self.number) else { return false };
        // One call of each, so that both are inlined.
        loop {
            self.end(span, &closing);
            let Some(parent) = closing.free() else { return true };
            (span, closing) = parent;
        }
    }

    /// Ends a span that is closed.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn end(&self, span: Number, closing: &Closing) {
        let (shared, ids, number) = (self.pipeline.shared(), closing.ids(), span.id().get());
        let contexts = &shared.spans.contexts;
        let Some(flags) = ids.flags_of(number) else { return };
        if contexts.has_ids_alone(flags) && !shared.wanted.durations {
            ids.remove();
        } else if contexts.is_own(flags) {
            Pipeline::end_span(shared, ids, None);
        }
    }

    /// Leaves a span that need not be the one that the thread entered last.
    #[inline(never)]
    fn exit_any(&self, number: Number) {
        let shared = self.pipeline.shared();
        // A thread may leave a span that another thread has entered.
        let left = current::exit(shared.spans.id, self.key(number));
        let left = left.or_else(|| number.open(self.number));
        if let Some(span) = left {
            self.pipeline.leave(shared, self.key(number), span.ids());
        }
    }

    /// Starts a span within one that has its ids and is not sampled, if there is nothing to log or
    /// to keep of the span but its ids, and the thread has a slot at hand.
    #[inline(never)]
    fn unsampled_child(
        &self,
        shared: &Shared,
        attributes: &Attributes<'_>,
        code: Code,
        parent: Open,
    ) -> Option<Number> {
        let contexts = &shared.spans.contexts;
        let is_plain = !code.is_at_boundary()
            && shared.filters.kept.is_none()
            && !shared.wanted.events
            && !shared.wanted.durations
            && shared.spans.sampling.follows_parents();
        if !is_plain {
            return None;
        }
        let within = contexts.unsampled_parent(parent.ids())?;
        let found = shared.found(attributes, Some(code));
        if found.is_around() {
            return None;
        }
        let span = slots::open_child(self.number, code, parent)?;
        let number = span.number();
        if !contexts.insert_unsampled(span.ids(), number.id().get(), within) {
            shared.progress.signals.dropped_spans.add(1);
        }
        Some(number)
    }

    /// Returns the innermost span that the thread is in, if it is open.
    fn current(&self) -> Option<Open> {
        current::own(self.number)
    }

    /// Writes the names and the fields of the spans that the thread is in: of `ALL`, or of those
    /// without a name.
    pub(super) fn write_current_spans<const ALL: bool>(&self, to: &mut Writer<'_>) {
        if self.pipeline.shared().wanted.events {
            self.current().into_iter().for_each(|span| self.write_span::<ALL>(span, to));
        }
    }

    /// Writes the names and the fields of a span and its parents, from the outermost one: of `ALL`,
    /// or of those without a name.
    fn write_span<const ALL: bool>(&self, span: Open, to: &mut Writer<'_>) {
        let parent = |span: &Open| span.parent()?.open(self.number);
        write_around(&span, MOST, to, &parent, &|span, to| {
            span.with(|metadata, fields| {
                if ALL || metadata.name().is_empty() {
                    to.span(metadata.name());
                    to.fields(fields);
                }
            });
        });
    }

    /// Counts a span for which there is no slot.
    #[cold]
    fn no_slot(&self, parent: Option<Open>) -> Id {
        if let Some(parent) = parent {
            self.close(parent.number());
        }
        self.pipeline.shared().progress.signals.dropped_spans.add(1);
        Id::from_u64(NO_SLOT)
    }
}

/// Keeps the fields of a new span for the events within.
#[inline]
fn keep_fields(shared: &Shared, attributes: &Attributes<'_>, span: Open) {
    if shared.wanted.events && !attributes.is_empty() {
        with_fields(
            |visitor| attributes.record(visitor),
            |fields| span.change_fields(|kept| kept.extend_from_slice(fields)),
        );
    }
}

#[inline]
pub(super) fn number(id: &Id) -> Number {
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
        if attributes.metadata().name().is_empty() {
            return self.nameless_span(attributes);
        }
        let (shared, metadata) = (self.pipeline.shared(), attributes.metadata());
        let code = callsites::code(Callsite(metadata));
        let innermost = self.innermost(shared, attributes.is_contextual(), attributes.is_root());
        if let (Innermost::Recorded(parent), Some(code)) = (&innermost, code) {
            if !parent.ids().may_be_sampled() {
                if let Some(span) = self.unsampled_child(shared, attributes, code, *parent) {
                    return Id::from_non_zero_u64(span.id());
                }
            }
        }
        let parent = match innermost {
            Innermost::None => None,
            Innermost::Recorded(span) => Some(span),
            Innermost::Other => self.around(attributes.parent(), attributes.is_contextual()),
        };
        let parent = parent.filter(|parent| parent.add_reference());
        let Some(span) = slots::open(self.number, Some(metadata), code, parent) else {
            return self.no_slot(parent);
        };
        let number = span.number();
        // What the filter refuses is kept for a backtrace, if anything.
        if shared.filters.kept.is_none()
            || shared.filters.is_span_recorded(level(metadata), metadata.target())
        {
            let within = || match innermost {
                Innermost::None => None,
                Innermost::Recorded(span) => span.context(),
                Innermost::Other => {
                    self.within(shared, attributes.parent(), attributes.is_contextual())
                }
            };
            let (key, slot) = (self.key(number), Some(span.ids()));
            self.pipeline.start_span(shared, attributes, key, slot, code, within);
        }
        keep_fields(shared, attributes, span);
        Id::from_non_zero_u64(number.id())
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        self.pipeline.record_values(self.key(number(id)), values);
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
        self.pipeline.link_spans(self.key(number(id)), self.key(number(follows)));
    }

    fn event(&self, event: &Event<'_>) {
        let around = |shared: &Shared| {
            let innermost = self.innermost(shared, event.is_contextual(), event.is_root());
            let within = match innermost {
                Innermost::None => None,
                Innermost::Recorded(span) => Some(span.ids().context()),
                Innermost::Other => self.within(shared, event.parent(), event.is_contextual()),
            };
            shared.around_event(event, within)
        };
        self.pipeline.log_event(event, around, |to| {
            if let Some(span) = self.around(event.parent(), event.is_contextual()) {
                self.write_span::<true>(span, to);
            }
        });
    }

    fn enter(&self, id: &Id) {
        let (shared, number) = (self.pipeline.shared(), number(id));
        let Some(span) = number.may_be_open(self.number) else { return };
        let (key, spans) = (self.key(number), &shared.spans);
        // A span that has ids is open. One call for both, so that it is inlined.
        let (pipeline, active) = match spans.contexts.own(span.ids(), key.number) {
            Some(slot) => {
                let unused = || None::<&'static Metadata<'static>>;
                (Some(spans.id), self.pipeline.activate(key, Some(span), slot, unused))
            }
            None if span.is_open() => {
                let is_lent =
                    NAMELESS.is_on() && spans.contexts.lent(span.ids(), key.number).is_some();
                (is_lent.then_some(spans.id), Active::unrecorded())
            }
            None => return,
        };
        current::enter_own(pipeline, key, span, active);
    }

    fn exit(&self, id: &Id) {
        let (shared, number) = (self.pipeline.shared(), number(id));
        match current::exit_last(shared.spans.id, self.key(number)) {
            Some(span) => {
                // If the span is closed, another one may have the slot.
                self.pipeline.leave(shared, self.key(number), span.ids());
            }
            None => self.exit_any(number),
        }
    }

    fn clone_span(&self, id: &Id) -> Id {
        number(id).add_reference(self.number);
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        self.close(number(&id))
    }

    fn drop_span(&self, id: Id) {
        self.try_close(id);
    }

    fn current_span(&self) -> Current {
        let current = self.current().and_then(|span| {
            let metadata = span.metadata()?;
            Some(Current::new(Id::from_non_zero_u64(span.number().id()), metadata))
        });
        current.unwrap_or_else(Current::none)
    }
}
