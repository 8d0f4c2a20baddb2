//! The lines of tracing-subscriber: its default format, and its compact one.

use std::io::{self, Write as _};

use super::{Line, PLAIN, Style, below, color, faint, write_ids, write_site};
use crate::escape;
use crate::event::{Event, Span};
use crate::format::Names;
use crate::format::key_value;
use crate::format::{SPAN_ID, TRACE_ID, is_id_key};
use crate::value::{Value, write_plain};

const BOLD: &[u8] = b"\x1b[1m";
const ITALIC: &[u8] = b"\x1b[3m";
/// The key of a field whose value tracing-subscriber writes without the key, in spans and in
/// events.
const MESSAGE: &str = "message";
/// A space, and then faint.
const SPACE_FAINT: &[u8] = b" \x1b[2m";

pub(super) fn write<const COLORS: bool>(
    line: &Line,
    event: &Event<'_>,
    to: &mut Vec<u8>,
) -> io::Result<()> {
    let is_compact = line.style == Style::TracingCompact;
    if let Some(time) = line.time {
        faint::<COLORS>(to, |to| time.write(to, event.time()));
        to.push(b' ');
    }
    if line.has_level {
        let level = event.level_name();
        in_style::<COLORS>(to, color(level), |to| write!(to, "{level:>5}"))?;
        to.push(b' ');
    }
    if line.has_process() {
        faint::<COLORS>(to, |to| line.write_process(to));
        to.push(b' ');
    }
    if event.has_spans() {
        event.spans(|span| {
            in_style::<COLORS>(to, BOLD, |to| {
                escape::write::<false>(to, span.name());
                Ok(())
            })?;
            if is_compact {
                to.push(b':');
            } else {
                if line.has_span_fields {
                    braced::<COLORS>(to, &span)?;
                }
                faint::<COLORS>(to, |to| to.push(b':'));
            }
            Ok(())
        })?;
        to.push(b' ');
    }
    let target = line.target_of(event);
    if !target.is_empty() {
        faint::<COLORS>(to, |to| escape::write::<false>(to, &target));
        faint::<COLORS>(to, |to| to.push(b':'));
        to.push(b' ');
    }
    if let Some(site) = line.site_of(event) {
        write_site::<COLORS>(site, to)?;
        to.push(b' ');
    }
    let start = to.len();
    let mut below = Vec::new();
    line.write_message(event.message(), to, &mut below);
    let ids = line.ids_of(event);
    let head: &[&str] = if ids.is_some() { &[TRACE_ID, SPAN_ID] } else { &[] };
    let mut names = Names::default();
    event.own_fields(|key, value| {
        if ids.is_some_and(|ids| ids.has(key, value)) {
            return Ok(());
        }
        let is_printed = event.is_printed();
        let mut write = |key: &str| {
            if line.writes_below(value) {
                below.extend_from_slice(below::BEFORE);
                in_style::<COLORS>(&mut below, ITALIC, |to| to.write_all(key.as_bytes()))?;
                faint::<COLORS>(&mut below, |to| to.push(b':'));
                below::write_value(&mut below, value);
                return Ok(());
            }
            if to.len() > start {
                to.push(b' ');
            }
            field::<COLORS>(to, key, value, is_printed)
        };
        if key_value::is_plain(key) && !(ids.is_some() && is_id_key(key)) {
            write(key)
        } else {
            let mut name = Vec::new();
            key_value::write_name(&mut name, key, head, &mut names, event);
            write(&String::from_utf8_lossy(&name))
        }
    })?;
    if is_compact && line.has_span_fields {
        event.spans(|span| {
            let (start, before) = (to.len(), if COLORS { SPACE_FAINT } else { b" " });
            fields::<COLORS>(to, &span, before)?;
            if COLORS && to.len() > start {
                to.extend_from_slice(PLAIN);
            }
            Ok(())
        })?;
    }
    write_ids::<COLORS>(ids, to);
    to.extend_from_slice(&below);
    to.push(b'\n');
    Ok(())
}

/// Writes the fields of a span in braces, if it has any.
fn braced<const COLORS: bool>(to: &mut Vec<u8>, span: &Span<'_>) -> io::Result<()> {
    let mut brace = Vec::new();
    in_style::<COLORS>(&mut brace, BOLD, |to| to.write_all(b"{"))?;
    let start = to.len();
    fields::<COLORS>(to, span, &brace)?;
    if to.len() > start {
        in_style::<COLORS>(to, BOLD, |to| to.write_all(b"}"))?;
    }
    Ok(())
}

/// Writes the fields of a span, with `before` before the first.
fn fields<const COLORS: bool>(to: &mut Vec<u8>, span: &Span<'_>, before: &[u8]) -> io::Result<()> {
    let mut before = Some(before);
    span.fields(|key, value| {
        to.extend_from_slice(before.take().unwrap_or(b" "));
        if key_value::is_plain(key) {
            field::<COLORS>(to, key, value, span.is_printed())
        } else {
            field::<COLORS>(to, &key_value::plain(key), value, span.is_printed())
        }
    })
}

fn field<const COLORS: bool>(
    to: &mut Vec<u8>,
    key: &str,
    value: Value<'_>,
    is_printed: bool,
) -> io::Result<()> {
    let is_message = key == MESSAGE;
    if !is_message {
        in_style::<COLORS>(to, ITALIC, |to| to.write_all(key.as_bytes()))?;
        faint::<COLORS>(to, |to| to.push(b'='));
    }
    match value {
        Value::Str(text) if is_printed || is_message => escape::write::<false>(to, text),
        // Rust's escapes leave no character that ends a line or drives a terminal.
        Value::Str(text) => write!(to, "{text:?}")?,
        Value::F64(number) => write!(to, "{number:?}")?,
        Value::Error(chain) => {
            let mut messages = chain.messages();
            escape::write::<false>(to, messages.next().unwrap_or_default());
            let mut between: &[u8] = b"[";
            for source in messages {
                if between == b"[" {
                    to.push(b' ');
                    in_style::<COLORS>(to, ITALIC, |to| to.write_all(key.as_bytes()))?;
                    in_style::<COLORS>(to, ITALIC, |to| to.write_all(b".sources"))?;
                    faint::<COLORS>(to, |to| to.push(b'='));
                }
                to.extend_from_slice(between);
                escape::write::<false>(to, source);
                between = b", ";
            }
            if between != b"[" {
                to.push(b']');
            }
        }
        value => write_plain(to, value),
    }
    Ok(())
}

#[inline]
fn in_style<const COLORS: bool>(
    to: &mut Vec<u8>,
    style: &[u8],
    write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    if COLORS {
        to.extend_from_slice(style);
    }
    write(to)?;
    if COLORS {
        to.extend_from_slice(PLAIN);
    }
    Ok(())
}
