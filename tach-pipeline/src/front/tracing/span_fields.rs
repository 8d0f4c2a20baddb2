//! The fields of spans as bytes of a record, which a layer keeps in the registry for the events
//! within the spans.

use tracing_core::{Event, Subscriber, dispatcher};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::subscriber::PipelineSubscriber;
use super::visit::Visitor;
use crate::channel::current_thread;
use crate::frame::Writer;
use crate::pipeline::Pipeline;

/// A span's fields as bytes of a record. If several pipelines are layers of the subscriber, one of
/// them keeps the fields for all.
pub(super) struct Kept {
    pub(super) by: u64,
    pub(super) fields: Vec<u8>,
}

impl Kept {
    pub(super) fn new(by: &Pipeline, fields: &[u8]) -> Self {
        Self { by: by.id(), fields: fields.to_owned() }
    }
}

/// Calls `keep` with values as bytes of a record. The values are visited before `keep` takes a
/// lock: a value that is printed may log.
pub(super) fn with_fields(visit: impl FnOnce(&mut Visitor<'_, '_>), keep: impl FnOnce(&[u8])) {
    let mut scratch = current_thread::take_scratch();
    let mut to = Writer::of_fields(&mut scratch);
    visit(&mut Visitor::of_span(&mut to));
    keep(scratch.written());
    current_thread::give_back(scratch);
}

/// Writes the spans that the thread is in, for a record of `log`, if the current subscriber is a
/// pipeline's own, or a registry with a pipeline as a layer.
pub(in crate::front) fn write_current_spans(to: &mut Writer<'_>) {
    dispatcher::get_default(|dispatch| {
        if let Some(subscriber) = dispatch.downcast_ref::<PipelineSubscriber>() {
            return subscriber.write_current_spans(to);
        }
        let Some(registry) = dispatch.downcast_ref::<Registry>() else { return };
        let current = registry.current_span();
        if let Some(span) = current.id().and_then(|id| registry.span(id)) {
            write_kept_span(&span, to);
        }
    });
}

fn write_kept_span(span: &SpanRef<'_, Registry>, to: &mut Writer<'_>) {
    if let Some(parent) = span.parent() {
        write_kept_span(&parent, to);
    }
    if let Some(kept) = span.extensions().get::<Kept>() {
        to.spans();
        to.span(span.name());
        to.fields(&kept.fields);
    }
}

/// Writes the names and the fields of the spans around an event.
pub(super) fn write_spans<S>(event: &Event<'_>, context: &Context<'_, S>, to: &mut Writer<'_>)
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    if let Some(span) = context.event_span(event) {
        to.spans();
        write_span(&span, to);
    }
}

fn write_span<'a, S: LookupSpan<'a>>(span: &SpanRef<'a, S>, to: &mut Writer<'_>) {
    if let Some(parent) = span.parent() {
        write_span(&parent, to);
    }
    to.span(span.name());
    if let Some(kept) = span.extensions().get::<Kept>() {
        to.fields(&kept.fields);
    }
}
