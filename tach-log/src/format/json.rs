//! JSON: an object for each event.

mod presets;

use std::io;

use super::Names;
use super::json_value::{write_error, write_value};
use super::keyed::Keyed;
use super::layout::{DEFAULT_KEYS, JsonSyntax, What, is_default_key};
use super::{Ids, SPAN_ID, TRACE_ID, is_id_key};
use super::{quoted, span_names, time};
use crate::escape;
use crate::event::Event;
use crate::value::Value;

/// An object of JSON (RFC 8259) for each event:
///
/// ```text
/// {"ts":"2026-11-21T09:30:00.123456Z","level":"INFO","target":"app","msg":"connected","attempt":2}
/// ```
///
/// - Integers are numbers, also in 128 bits. Some readers round beyond 2^53: see
///   [`texts`](Self::texts).
/// - Floats are the shortest text that reads back as the same `f64`. `NaN` and the infinities,
///   which JSON lacks, are `null`.
/// - A value that prints itself (`Display`, `Debug`) is a string.
/// - An object or a list of `serde`, `sval` or slog's nested values is one, if the feature `serde`
///   is enabled, and otherwise a string.
/// - An error is its message. If it has sources, `KEY_sources` is the list of their messages.
/// - An empty target or message is left out.
/// - Within spans of `tracing`, `span` has their names from the outermost to the innermost, with
///   `:` between them, and the spans' fields follow the event's own.
/// - Beside a sink of spans, `trace_id` and `span_id` are the ids of the span around the event. If
///   a field has one of these keys, both are left out.
///
/// The methods of [`Keyed`] change the layout: `Json::new().with("@timestamp", Part::Time)` names
/// the time, and `Json::empty()` begins without parts, so that they stand in the order of the
/// calls. [`ecs`](Keyed::ecs), [`google_cloud`](Keyed::google_cloud), [`datadog`](Keyed::datadog)
/// and [`bunyan`](Keyed::bunyan) are ready layouts.
///
/// # Guarantees
///
/// The [guarantees of `Line`](crate::Line#guarantees), and every event is valid JSON.
///
/// Each key stands once, with its innermost value: the event's own before a span's, an inner span's
/// or logger's before an outer one's, and otherwise the last. A field whose key the head uses gets
/// another: `level_`, or `level_2` and so on if that is in use.
///
/// # Examples
///
/// ```
/// use log::Record;
/// use tach_log::Json;
///
/// let mut line = Vec::new();
/// let record = Record::builder().args(format_args!("a \"word\"")).build();
/// tach_log::write(Json::new())(&mut line, &record)?;
/// assert!(line.ends_with(b",\"msg\":\"a \\\"word\\\"\"}\n"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub type Json = Keyed<JsonSyntax>;

impl Json {
    /// Adds the list of the spans, from the outermost to the innermost. Each is an object with its
    /// `name` and its fields, which are then not among the event's fields.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().without("span").spans("spans");
    /// ```
    #[must_use]
    pub fn spans(self, key: &str) -> Self {
        self.change(|layout| layout.set(key, &What::Spans))
    }

    /// Writes the values of fields with this key as texts, also those of spans: numbers that a
    /// reader would round, as `u64::MAX` is in JavaScript, and `NaN`, which otherwise is `null`.
    /// `null` stays.
    ///
    /// The type of a field must not depend on its value, since Elasticsearch refuses a text among
    /// numbers. So this is an option for a key, and not for long numbers.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().texts("order_id").texts("ratio");
    /// ```
    #[must_use]
    pub fn texts(self, field: &str) -> Self {
        self.change(|layout| layout.texts.push(field.to_owned()))
    }

    /// Sets how deeply objects and lists may be nested, counting the line's own object: without a
    /// limit by default, and up to 65 in `tach-pipeline`. Elasticsearch refuses documents with more
    /// than 20.
    ///
    /// Each deeper object or list becomes `"…"`, and the field `truncated_bytes` counts what the
    /// line lacks. Zero is a [fault](Keyed#faults).
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::ecs().max_depth(20);
    /// ```
    #[must_use]
    pub fn max_depth(self, depth: usize) -> Self {
        self.change(|layout| layout.max_depth = depth)
    }

    /// Writes an error's sources within its text, with `: ` before each, and not as a list.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().join_sources();
    /// ```
    #[must_use]
    pub fn join_sources(self) -> Self {
        self.change(|layout| layout.lists_sources = false)
    }
}

/// Writes an event in the default layout. This is no method of [`Keyed`]: the compiler puts the
/// methods of both formats into one codegen unit, and inlines less there.
pub(super) fn write(event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
    default_head(to, event)?;
    let ids = Ids::of(event);
    let mut names = Names::default();
    event.fields(|key, value| {
        if ids.is_some_and(|ids| ids.has(key, value)) {
            return Ok(());
        }
        to.extend_from_slice(b",\"");
        if is_default_key(key) || ids.is_some() && is_id_key(key) {
            write_free_key(to, key, &mut names, event);
        } else {
            escape::write::<true>(to, key);
        }
        to.extend_from_slice(b"\":");
        match value {
            Value::Error(chain) => write_error(to, chain, || {
                names.sources(key, &any_default_key, &|is| event.has_key(is))
            }),
            value => write_value(to, value),
        }
        Ok(())
    })?;
    to.extend_from_slice(b"}\n");
    Ok(())
}

fn any_default_key(is: &dyn Fn(&str) -> bool) -> bool {
    DEFAULT_KEYS.iter().chain(&[TRACE_ID, SPAN_ID]).any(|key| is(key))
}

/// Writes the key of a field under a name that neither the head nor another field uses.
#[cold]
fn write_free_key(to: &mut Vec<u8>, key: &str, names: &mut Names, event: &Event<'_>) {
    let name = names.free(key, &any_default_key, &|is| event.has_key(is));
    escape::write::<true>(to, &name);
}

#[inline]
fn default_head(to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
    to.extend_from_slice(b"{\"ts\":\"");
    time(to, event.time());
    to.extend_from_slice(b"\",\"level\":\"");
    to.extend_from_slice(event.level_name().as_bytes());
    to.push(b'"');
    if !event.target().is_empty() {
        to.extend_from_slice(b",\"target\":");
        quoted(to, event.target());
    }
    if !event.message().is_empty() {
        to.extend_from_slice(b",\"msg\":");
        quoted(to, event.message());
    }
    if event.has_spans() {
        to.extend_from_slice(b",\"span\":\"");
        span_names(to, event)?;
        to.push(b'"');
    }
    if let Some(ids) = Ids::of(event) {
        ids.each(|key, id| {
            for text in [b",\"", key.as_bytes(), b"\":\"", id, b"\""] {
                to.extend_from_slice(text);
            }
        });
    }
    Ok(())
}
