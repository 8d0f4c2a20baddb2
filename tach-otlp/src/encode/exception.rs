//! Errors as exceptions
//! (<https://opentelemetry.io/docs/specs/semconv/exceptions/>).

use tach_log::{Chain, Value};

use super::attributes::Attributes;
use super::taken::Taken;

const MESSAGE: &str = "exception.message";
const STACKTRACE: &str = "exception.stacktrace";

/// Whether a record, an event or a span contains an exception: a field with the key of one, or an
/// error. The keys are searched only at the first error, since most records contain no error.
#[derive(Debug, Default)]
pub struct HasException(Option<bool>);

impl HasException {
    /// Notes an exception. Returns whether there was one before. The first call asks `by_field`.
    pub fn note(&mut self, by_field: impl FnOnce() -> bool) -> bool {
        self.0.replace(true).unwrap_or_else(by_field)
    }
}

impl Attributes {
    /// Appends an error as an exception: its message and, if it has sources, one text with all
    /// messages. Its type is left out, since `dyn Error` does not provide it.
    pub fn add_exception(&mut self, to: &mut Vec<u8>, chain: Chain<'_>) {
        let mut messages = chain.messages();
        let text = messages.next().unwrap_or_default();
        self.add_exception_text(to, text);
        // OpenTelemetry's conventions ask for one text, in the form in which the language prints
        // errors.
        let all = messages.fold(text.to_owned(), |all, cause| all + "\nCaused by: " + cause);
        if all.len() > text.len() {
            self.add(to, STACKTRACE, Value::Str(&all));
        }
    }

    /// Appends the text of an error as the message of an exception.
    pub fn add_exception_text(&mut self, to: &mut Vec<u8>, text: &str) {
        self.add(to, MESSAGE, Value::Str(text));
    }
}

impl Taken {
    /// Returns whether a field has a key of an exception. Then no error becomes an exception.
    #[must_use]
    pub fn has_exception(self) -> bool {
        self.has(MESSAGE) || self.has(STACKTRACE)
    }
}
