//! The keys of the fields of spans and events.

use tach_log::Value;
use tach_otlp::adapter::Taken;

use super::texts;
use crate::spans::span::Span;
use tach_record::frame::{Fields, Frame};

/// Returns the keys of an event's own fields.
pub(super) fn own_keys<'a>(event: &Frame<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    event.fields.parts().map_while(|(key, value)| value.is_some().then_some(key))
}

/// Returns the fields of a span, without those of its links.
fn fields<'a>(span: &Span<'a>) -> impl Iterator<Item = (&'a str, Option<Value<'a>>)> + use<'a> {
    span.own_parts().flat_map(|part| part.span_fields().map(Fields::parts).into_iter().flatten())
}

/// Returns whether a span has a field with the key.
pub(super) fn has_field(span: &Span<'_>, key: &str) -> bool {
    fields(span).any(|(own, _)| own == key)
}

/// Returns the keys that the fields of a span take, and how many bytes the span lacks of the
/// [texts](super::texts) that its fields set.
pub(super) fn keys_and_loss(span: &Span<'_>) -> (Taken, u64) {
    fields(span).fold((Taken::default(), 0), |(mut taken, lost), (key, value)| {
        taken.add(key);
        (taken, lost + texts::lost(key, value))
    })
}
