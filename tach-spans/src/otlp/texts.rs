//! The texts of a span that are no attributes: its name, the description of its status, and its
//! `tracestate`.

use tach_log::Value;
use tach_log::adapter::beginning;

use tach_record::frame::TRACE_STATE;

/// The field that replaces the name.
pub(super) const NAME: &str = "otel.name";
/// The field that sets the status to an error with this description.
const DESCRIPTION: &str = "otel.status_description";

/// The most bytes of each of the texts.
const MOST: usize = 64 * 1024;

/// Returns the beginning of a name or a description.
pub(super) fn cut(text: &str) -> &str {
    beginning(text, MOST)
}

/// Returns the `tracestate`, or nothing if it is too long: the beginning may not be a valid one.
pub(super) fn whole(trace_state: &str) -> &str {
    if trace_state.len() > MOST { "" } else { trace_state }
}

/// Returns whether records are long enough for [`lost`] to return anything.
pub(super) const fn may_be_lost(records: &[u8]) -> bool {
    records.len() > MOST
}

/// Returns how many bytes a span lacks of the text that a field sets.
pub(super) fn lost(key: &str, value: Option<Value<'_>>) -> u64 {
    let (text, kept) = match (key, value) {
        (NAME | DESCRIPTION, Some(Value::Str(text))) => (text, cut(text)),
        (TRACE_STATE, Some(Value::Str(text))) => (text, whole(text)),
        _ => return 0,
    };
    (text.len() - kept.len()) as u64
}
