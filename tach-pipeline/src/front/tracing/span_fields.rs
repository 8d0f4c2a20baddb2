//! The fields of spans as bytes of a record, which a layer keeps in the registry for the events
//! within the spans.

use tach_log::Value;
use tracing_core::{Event, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::visit::Visitor;
use crate::channel::current_thread;
use crate::frame::MaybeStatic;
use crate::frame::Writer;
use crate::pipeline::Pipeline;
use crate::sync::Switch;

/// The most spans around an event in its record. A guard that is held over an `await` nests spans
/// without end.
pub(super) const MOST: usize = 64;
/// Whether there was a span without a name, which carries fields and is no span to a reader.
pub(super) static NAMELESS: Switch = Switch::new();

/// The key of the number of spans that a record leaves out.
const OMITTED: &str = "omitted_spans";

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

/// Writes the names and the fields of the spans around an event.
pub(super) fn write_spans<S>(event: &Event<'_>, context: &Context<'_, S>, to: &mut Writer<'_>)
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    if let Some(span) = context.event_span(event) {
        write_around(&span, MOST, to, &SpanRef::parent, &|span, to| {
            to.span(span.name());
            if let Some(kept) = span.extensions().get::<Kept>() {
                to.fields(&kept.fields);
            }
        });
    }
}

/// Writes a span and its parents by `write`: the outermost one, which has the request's fields, and
/// the innermost ones, up to `most` spans (two or more). Adds the number of the others as a field.
pub(super) fn write_around<S>(
    span: &S,
    most: usize,
    to: &mut Writer<'_>,
    parent: &impl Fn(&S) -> Option<S>,
    write: &impl Fn(&S, &mut Writer<'_>),
) {
    match parent(span) {
        Some(parent_span) if most > 2 => write_around(&parent_span, most - 1, to, parent, write),
        Some(mut outermost) => {
            let mut omitted = 0;
            while let Some(outer) = parent(&outermost) {
                (outermost, omitted) = (outer, omitted + 1);
            }
            if omitted > 0 {
                to.field(MaybeStatic::Static(OMITTED), Value::U64(omitted));
            }
            write(&outermost, to);
        }
        None => {}
    }
    write(span, to);
}
