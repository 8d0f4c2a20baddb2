//! Derives the status of a span, from the same fields and events as `tracing-opentelemetry` does.

use tach_log::Value;

use tach_record::frame::{self, Frame};

/// The key of an error in an event without a message, as `#[instrument(err)]` records it.
const ERROR: &str = "error";

/// The status of a span so far. A later value replaces an earlier one, except that nothing replaces
/// `Ok`: the program states with it that the span succeeded.
#[derive(Debug, Default)]
pub struct Status {
    pub code: Code,
    pub description: String,
}

/// The code of a status. The numbers are those of OTLP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    #[default]
    Unset,
    Ok,
    Error,
}

impl Status {
    /// If a field of the span sets the status, takes the field and returns `true`.
    pub fn field(&mut self, key: &str, value: Value<'_>) -> bool {
        match (key, value) {
            ("otel.status_code", Value::Str(code)) => self.set(Code::named(code), ""),
            ("otel.status_description", Value::Str(text)) => self.set(Code::Error, text),
            _ => return false,
        }
        true
    }

    /// Takes the level of an event. The event's fields are passed to `event_field`.
    pub fn event(&mut self, event: &Frame<'_>) {
        if event.level.of_log() == log::Level::Error && self.code == Code::Unset {
            self.set(Code::Error, "");
        }
    }

    /// If a field of an event is an error that the span's function returned, takes the error as the
    /// status and returns `true`.
    pub(crate) fn event_field(&mut self, event: &Frame<'_>, key: &str, value: Value<'_>) -> bool {
        match (key, value) {
            (ERROR, Value::Str(text)) if event.message.is_empty() => self.set(Code::Error, text),
            _ => return false,
        }
        true
    }

    /// Takes the record of an event, with its fields.
    pub(crate) fn event_record(&mut self, record: &[u8]) {
        if !frame::may_set_status(record) {
            return;
        }
        let Some(event) = Frame::read(record) else { return };
        self.event(&event);
        // The event's own fields come first. The fields of the spans around the event follow.
        let own = event.fields.parts().map_while(|(key, value)| Some((key, value?)));
        own.for_each(|(key, value)| {
            self.event_field(&event, key, value);
        });
    }

    pub(super) fn set(&mut self, code: Code, description: &str) {
        if self.code == Code::Ok {
            return;
        }
        self.code = code;
        description.clone_into(&mut self.description);
    }
}

impl Code {
    fn named(name: &str) -> Self {
        match name {
            _ if name.eq_ignore_ascii_case("ok") => Self::Ok,
            _ if name.eq_ignore_ascii_case("error") => Self::Error,
            _ => Self::Unset,
        }
    }
}
