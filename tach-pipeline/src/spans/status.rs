//! The status of a span, by the fields and events from which `tracing-opentelemetry` takes it.

use tach_log::Value;

use crate::frame::{self, Frame};

/// The key of an error that is an event's only text.
const ERROR: &str = "error";

/// The status of a span so far. The last one that is set counts, but for those after `Ok`, which is
/// the program's final word.
#[derive(Debug, Default)]
pub(crate) struct Status {
    pub(crate) code: Code,
    pub(crate) description: String,
}

/// The numbers are OTLP's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    #[default]
    Unset,
    Ok,
    Error,
}

impl Status {
    /// Takes a field of the span. Returns whether it is one of the status.
    pub(crate) fn field(&mut self, key: &str, value: Value<'_>) -> bool {
        match (key, value) {
            ("otel.status_code", Value::Str(code)) => self.set(Code::named(code), ""),
            ("otel.status_description", Value::Str(text)) => self.set(Code::Error, text),
            _ => return false,
        }
        true
    }

    /// Takes an event, but for its fields.
    pub(crate) fn event(&mut self, event: &Frame<'_>) {
        if event.level.of_log() == log::Level::Error && self.code == Code::Unset {
            self.set(Code::Error, "");
        }
    }

    /// Takes a field of an event. Returns whether it is an error that the span returned.
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
        // The fields of the spans around it follow its own.
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
