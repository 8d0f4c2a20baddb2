//! How a layout writes keys and values.

use std::borrow::Cow;
use std::io;

use tach_core::UnixTime;

use crate::escape;
use crate::event::Event;
use crate::format::time::Time;
use crate::format::{json_value, key_value, quoted, span_names};
use crate::value::Value;

/// How keys and values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// Members of an object.
    Json,
    /// `key=value`.
    Logfmt,
}

/// The syntax of a [`Keyed`](crate::Keyed) format, as a type.
pub trait Style {
    /// The syntax.
    const SYNTAX: Syntax;
}

/// The syntax of [`Json`](crate::Json).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonSyntax;

impl Style for JsonSyntax {
    const SYNTAX: Syntax = Syntax::Json;
}

/// The syntax of [`Logfmt`](crate::Logfmt).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogfmtSyntax;

impl Style for LogfmtSyntax {
    const SYNTAX: Syntax = Syntax::Logfmt;
}

impl Syntax {
    const fn is_json(self) -> bool {
        matches!(self, Self::Json)
    }

    /// Returns the name of the format.
    pub(super) const fn format(self) -> &'static str {
        if self.is_json() { "Json" } else { "Logfmt" }
    }

    /// Returns whether a key may stand as it is.
    #[inline]
    pub(super) fn may_stand(self, key: &str) -> bool {
        self.is_json() || key_value::may_stand(key)
    }

    /// Returns a key in the form in which it may stand.
    pub(super) fn key(self, key: &str) -> Cow<'_, str> {
        if self.may_stand(key) { key.into() } else { key_value::plain(key).into() }
    }

    /// Writes a key that may stand, with a comma or a space before it.
    pub(super) fn begin(self, to: &mut Vec<u8>, key: &str) {
        if self.is_json() {
            to.extend_from_slice(b",\"");
            escape::write::<true>(to, key);
            to.extend_from_slice(b"\":");
        } else {
            to.push(b' ');
            to.extend_from_slice(key.as_bytes());
            to.push(b'=');
        }
    }

    /// Ends a line that begins at `start`, where a comma or a space is before the first part.
    pub(super) fn finish(self, to: &mut Vec<u8>, start: usize) {
        match (self.is_json(), to.get_mut(start)) {
            (true, Some(comma)) => *comma = b'{',
            (true, None) => to.push(b'{'),
            (false, Some(_)) => _ = to.remove(start),
            (false, None) => {}
        }
        to.extend_from_slice(if self.is_json() { b"}\n" } else { b"\n" });
    }

    pub(super) fn value(self, to: &mut Vec<u8>, value: Value<'_>) {
        if self.is_json() {
            json_value::write_value(to, value);
        } else {
            key_value::write_value(to, value);
        }
    }

    /// Returns a value as it is written.
    pub(in crate::format) fn text_of(self, value: Value<'_>) -> String {
        let mut text = Vec::new();
        self.value(&mut text, value);
        String::from_utf8_lossy(&text).into_owned()
    }

    pub(super) fn text(self, to: &mut Vec<u8>, text: &str) {
        if self.is_json() {
            quoted(to, text);
        } else {
            key_value::write_text(to, text);
        }
    }

    pub(super) fn time(self, to: &mut Vec<u8>, time: Time, of: UnixTime) {
        to.extend_from_slice(self.quotes());
        time.write(to, of);
        to.extend_from_slice(self.quotes());
    }

    /// Returns what stands before and after a text that needs no escapes.
    pub(super) fn quotes(self) -> &'static [u8] {
        if self.is_json() { b"\"" } else { b"" }
    }

    pub(super) fn span_names(self, to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
        if !self.is_json() {
            return key_value::write_span_names(to, event);
        }
        to.push(b'"');
        span_names(to, event)?;
        to.push(b'"');
        Ok(())
    }
}
