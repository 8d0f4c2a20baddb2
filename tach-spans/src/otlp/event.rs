//! The events of a span.

use std::borrow::Cow;

use tach_core::UnixTime;
use tach_log::Value;
use tach_log::adapter::Fields as _;
use tach_otlp::adapter::protobuf::{bytes, fixed_64, long_message};
use tach_otlp::adapter::{Attributes, HasException, Metadata, Taken};

use super::error::add_error;
use super::keys::own_keys;
use super::{Own, field};
use tach_record::frame::{Frame, Lost};

/// The name of an event whose only text is an error.
const EXCEPTION: &str = "exception";

impl Own<'_> {
    /// Appends an event, unless the span is at the limit. Even then the event may set the status.
    pub(super) fn event(&mut self, to: &mut Vec<u8>, event: &Frame<'_>, time: UnixTime) {
        self.status.event(event);
        let mut has_error = false;
        let before = to.len();
        long_message(to, field::EVENTS, |to| {
            fixed_64(to, field::EVENT_TIME, time.as_nanos());
            has_error = self.event_fields(to, event);
        });
        // An event that was added by a method is not sent as a log record, so it stays in the span.
        let is_in_span = event.target.is_empty()
            || self.limits.has_events && (self.accepts)(event.level, event.target);
        if !is_in_span || self.events >= self.limits.events {
            to.truncate(before);
        }
        if !self.fits(to, before) || to.len() == before {
            self.dropped.add(Lost { events: is_in_span.into(), ..Lost::default() });
        } else {
            self.events += 1;
        }
        if has_error {
            let visited = event.fields.visit_own(&mut |_, value| {
                if let Value::Error(chain) = value {
                    self.exception(to, chain);
                }
                Ok(())
            });
            debug_assert!(visited.is_ok(), "nothing fails here");
        }
    }

    /// Appends the attributes and the name of an event. Returns whether it has an error as a value.
    fn event_fields(&mut self, to: &mut Vec<u8>, event: &Frame<'_>) -> bool {
        let mut taken = Taken::default();
        let mut attributes = Attributes::new(field::EVENT_ATTRIBUTES, self.limits.of_event());
        // An event without a message counts as an error at any level: `#[instrument(err(level =
        // "warn"))]` emits only the error's text.
        let is_error = event.level.of_log() == log::Level::Error || event.message.is_empty();
        let mut has_exception = HasException::default();
        let mut has_exception =
            || has_exception.note(|| Taken::by(own_keys(event)).has_exception());
        let (mut is_exception, mut has_error) = (false, false);
        let visited = event.fields.visit_own(&mut |key, value| {
            taken.add(key);
            self.status.event_field(event, key, value);
            match (key, value) {
                ("err" | "error", Value::Str(text)) if is_error && !has_exception() => {
                    is_exception = true;
                    attributes.add_exception_text(to, text);
                }
                (key, Value::Error(chain)) => {
                    has_error = true;
                    if !has_exception() {
                        attributes.add_exception(to, chain);
                    }
                    let has_field = |key: &str| own_keys(event).any(|own| own == key);
                    add_error(to, &mut attributes, key, chain, has_field);
                }
                (key, value) => attributes.add(to, key, value),
            }
            Ok(())
        });
        debug_assert!(visited.is_ok(), "nothing fails here");
        // An event that was added by a method of `SpanExt` has no level and no target.
        let (shown, is_logged) = (self.limits.shown, !event.target.is_empty());
        if is_logged && shown.event_has(Metadata::Level) {
            attributes.add_own(to, taken, "level", Value::Str(event.level.name()));
        }
        if is_logged && shown.event_has(Metadata::Target) {
            attributes.add_own(to, taken, "target", Value::Str(event.target));
        }
        if shown.event_has(Metadata::Location) {
            attributes.add_place(to, taken, &event.site);
        }
        attributes.end(to, field::EVENT_DROPPED_ATTRIBUTES);
        let name: Cow<'_, str> = match (event.message, event.site.event_name) {
            ("", _) if is_exception => EXCEPTION.into(),
            ("", Some(name)) => name.into(),
            // Use the name that tracing's macros give to an event without one.
            ("", None) => match (event.site.file, event.site.line) {
                (Some(file), Some(line)) => format!("event {file}:{line}").into(),
                _ => "event".into(),
            },
            (message, _) => message.into(),
        };
        bytes(to, field::EVENT_NAME, name.as_bytes());
        has_error
    }
}
