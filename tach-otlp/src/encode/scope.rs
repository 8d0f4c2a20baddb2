//! The messages around log records, spans and metrics. Their fields have the same numbers for all
//! signals (<https://github.com/open-telemetry/opentelemetry-proto>, `logs.proto`, `trace.proto`
//! and `metrics.proto`).

use super::protobuf::{Field, HEAD, bytes, long_message, message, message_of, split_field};

/// The numbers of the messages' fields.
mod field {
    /// `ResourceLogs` or `ResourceSpans` of a request.
    pub(super) const OF_RESOURCE: u32 = 1;
    /// `ScopeLogs` or `ScopeSpans`.
    pub(super) const OF_SCOPE: u32 = 2;
    pub(super) const SCOPE: u32 = 1;
    pub(super) const SCOPE_NAME: u32 = 1;
    /// The `LogRecord` or the `Span` of a scope.
    pub(super) const ITEM: u32 = 2;
}

/// Appends one item in a scope of its own: a `ScopeLogs` with a `LogRecord`, a `ScopeSpans` with a
/// `Span`, or a `ScopeMetrics` with a `Metric`. `write` appends the fields of the item.
///
/// # Examples
///
/// ```
/// let mut items = Vec::new();
/// // A span whose fields another encoder has written.
/// let span: &[u8] = &[];
/// tach_otlp::encode::in_scope(&mut items, "app::db", |to| to.extend_from_slice(span));
/// ```
pub fn in_scope<R>(to: &mut Vec<u8>, name: &str, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    long_message(to, field::OF_SCOPE, |to| {
        message(to, field::SCOPE, |to| bytes(to, field::SCOPE_NAME, name.as_bytes()));
        long_message(to, field::ITEM, write)
    })
}

/// Appends a `ResourceLogs`, `ResourceSpans` or `ResourceMetrics` with the items. `resource` is its
/// field for the resource, encoded.
pub(crate) fn of_resource(to: &mut Vec<u8>, resource: &[u8], items: &[u8]) {
    // An upper bound: `merge` writes the scope of consecutive items only once.
    let most = resource.len() + items.len();
    to.reserve(HEAD + most);
    message_of(to, field::OF_RESOURCE, most, |to| {
        to.extend_from_slice(resource);
        merge(to, items);
    });
}

/// Appends items to `to`. Consecutive items of one scope become one message.
fn merge(to: &mut Vec<u8>, mut items: &[u8]) {
    let mut next = split(&mut items);
    while let Some((scope, first)) = next {
        // An upper bound: all items that are left may belong to this scope.
        let most = scope.len() + first.len() + items.len();
        message_of(to, field::OF_SCOPE, most, |to| {
            to.extend_from_slice(scope);
            to.extend_from_slice(first);
            loop {
                next = split(&mut items);
                match next {
                    Some((same, item)) if same == scope => to.extend_from_slice(item),
                    _ => break,
                }
            }
        });
    }
}

/// Removes the first message from `items`, and returns its scope and its item, both encoded.
fn split<'a>(items: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (_, Field::Bytes(of_scope), rest) = split_field(items)? else { return None };
    *items = rest;
    let (_, _, item) = split_field(of_scope)?;
    of_scope.split_at_checked(of_scope.len() - item.len())
}
