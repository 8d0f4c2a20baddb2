//! The spans that the thread is in, for records of `log` and slog.

use tracing_core::{Subscriber as _, dispatcher};
use tracing_subscriber::Registry;
use tracing_subscriber::registry::{LookupSpan as _, SpanRef};

use super::span_fields::{Kept, MOST, NAMELESS, write_around};
use super::subscriber::PipelineSubscriber;
use crate::frame::Writer;

/// Writes the spans that the thread is in, for a record of `log`, if the current subscriber is a
/// pipeline's own, or a registry with a pipeline as a layer. Without `ALL`, writes the fields of those
/// without a name, for a record of slog.
#[inline]
pub(in crate::front) fn write_current_spans<const ALL: bool>(to: &mut Writer<'_>) {
    if ALL || NAMELESS.is_on() {
        write_the_threads_spans::<ALL>(to);
    }
}

#[cold]
fn write_the_threads_spans<const ALL: bool>(to: &mut Writer<'_>) {
    dispatcher::get_default(|dispatch| {
        if let Some(subscriber) = dispatch.downcast_ref::<PipelineSubscriber>() {
            return subscriber.write_current_spans::<ALL>(to);
        }
        let Some(registry) = dispatch.downcast_ref::<Registry>() else { return };
        let current = registry.current_span();
        if let Some(span) = current.id().and_then(|id| registry.span(id)) {
            write_around(&span, MOST, to, &SpanRef::parent, &|span, to| {
                if !ALL && !span.name().is_empty() {
                    return;
                }
                if let Some(kept) = span.extensions().get::<Kept>() {
                    to.span(span.name());
                    to.fields(&kept.fields);
                }
            });
        }
    });
}
