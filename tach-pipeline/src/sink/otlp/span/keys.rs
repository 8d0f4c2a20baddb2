//! The keys of the fields of spans and events.

use tach_otlp::adapter::Taken;

use crate::frame::{Frame, What};
use crate::spans::span::{Item, Span};

/// Returns the keys of an event's own fields.
pub(super) fn own_keys<'a>(event: &Frame<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    event.fields.parts().map_while(|(key, value)| value.is_some().then_some(key))
}

/// Returns the keys of a span's fields. Those of its links belong to the links.
fn keys<'a>(span: &Span<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let fields = span.items().filter_map(|item| match item {
        Item::Part(part) if !matches!(part.what, What::Link(_)) => Some(part.fields),
        _ => None,
    });
    fields.flat_map(|fields| fields.parts().map(|(key, _)| key))
}

/// Returns whether a span has a field with the key.
pub(super) fn has_field(span: &Span<'_>, key: &str) -> bool {
    keys(span).any(|own| own == key)
}

/// Returns the keys that the fields of a span take.
pub(super) fn taken(span: &Span<'_>) -> Taken {
    Taken::by(keys(span))
}
