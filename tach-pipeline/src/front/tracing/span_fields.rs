//! The fields of spans as bytes of a record, which are kept for the records within the spans.

use tach_log::Value;

use super::visit::Visitor;
use crate::channel::current_thread;
use crate::frame::MaybeStatic;
use crate::frame::Writer;
use crate::sync::Switch;
use crate::trace::slots::Open;

/// The most spans around an event in its record. A guard that is held over an `await` nests spans
/// without end.
pub(super) const MOST: usize = 64;
/// Whether there was a span without a name, which carries fields and is no span to a reader.
pub(super) static NAMELESS: Switch = Switch::new();

/// The key of the number of spans that a record leaves out.
const OMITTED: &str = "omitted_spans";

/// Calls `keep` with values as bytes of a record. The values are visited before `keep` takes a
/// lock: a value that is printed may log.
pub(super) fn with_fields(visit: impl FnOnce(&mut Visitor<'_, '_>), keep: impl FnOnce(&[u8])) {
    let mut scratch = current_thread::take_scratch();
    let mut to = Writer::of_fields(&mut scratch);
    visit(&mut Visitor::of_span(&mut to));
    keep(scratch.written());
    current_thread::give_back(scratch);
}

/// Writes the names and the fields of a span and its parents: the outermost one, which has the
/// request's fields, and the innermost ones, up to `most` spans (two or more). Adds the number of the
/// others as a field. Without `ALL`, writes spans without a name alone.
pub(super) fn write_around<const ALL: bool>(span: Open, most: usize, to: &mut Writer<'_>) {
    match span.parent() {
        Some(parent) if most > 2 => write_around::<ALL>(parent, most - 1, to),
        Some(mut outermost) => {
            let mut omitted = 0;
            while let Some(outer) = outermost.parent() {
                (outermost, omitted) = (outer, omitted + 1);
            }
            if omitted > 0 {
                to.field(MaybeStatic::Static(OMITTED), Value::U64(omitted));
            }
            write_span::<ALL>(outermost, to);
        }
        None => {}
    }
    write_span::<ALL>(span, to);
}

fn write_span<const ALL: bool>(span: Open, to: &mut Writer<'_>) {
    span.with(|metadata, fields| {
        if ALL || metadata.name().is_empty() {
            to.span(metadata.name());
            to.fields(fields);
        }
    });
}
