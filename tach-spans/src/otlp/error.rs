//! Errors among the fields of spans and events.

use tach_log::{Chain, Value};
use tach_otlp::adapter::Attributes;

use super::Own;
use super::keys::keys_and_loss;

impl Own<'_> {
    /// Appends the first error of the span or of its events as attributes of the span.
    pub(super) fn exception(&mut self, to: &mut Vec<u8>, chain: Chain<'_>) {
        let span = self.span;
        if !self.has_exception.note(|| keys_and_loss(span).0.has_exception()) {
            self.add(to, |attributes, to| attributes.add_exception(to, chain));
        }
    }
}

/// Appends the field of an error: its message, and the messages of its sources, if it has any,
/// unless another field has their key.
pub(super) fn add_error(
    to: &mut Vec<u8>,
    attributes: &mut Attributes,
    key: &str,
    chain: Chain<'_>,
    has_field: impl Fn(&str) -> bool,
) {
    let mut messages = chain.messages().peekable();
    attributes.add(to, key, Value::Str(messages.next().unwrap_or_default()));
    if messages.peek().is_none() {
        return;
    }
    let of_sources = format!("{key}.chain");
    if !has_field(&of_sources) {
        attributes.add_texts(to, &of_sources, messages);
    }
}
