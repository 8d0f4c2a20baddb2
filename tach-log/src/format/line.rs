//! A line for people.

mod below;
mod options;
mod short;
mod tracing;

use core::str;
use std::borrow::Cow;
use std::io::{self, Write as _};
use std::process;

use super::Names;
use super::time::Time;
use super::{Format, host_name, key_value, made_line, span_names};
use super::{Ids, SPAN_ID, TRACE_ID, is_id_key};
use crate::escape;
use crate::event::Event;
use crate::value::{Value, write_plain};

/// The width of `ERROR` and `DEBUG`.
const LEVEL_WIDTH: &[u8] = b"     ";

/// The key of the spans' names.
const SPAN: &str = "span";

/// ECMA-48, "select graphic rendition": faint, and back to plain.
const FAINT: &[u8] = b"\x1b[2m";
const PLAIN: &[u8] = b"\x1b[0m";

/// The widest [`Line::target_width`].
const WIDEST: usize = 256;

/// A line for people for each event:
///
/// ```text
/// 2026-11-21T09:30:00.123456Z INFO  app::db: connected peer=10.0.0.7:5432 query="select 1"
/// ```
///
/// A value is bare if it is a word, a number, an object or a list, and otherwise quoted and escaped
/// as in JSON. An error's sources follow it after `: `. Beside a sink of spans, the line ends with
/// the [ids](Line::ids) of the span around the event. The message has no quotes, so a program
/// can't find its end: for programs take [`Json`](crate::Json) or [`Logfmt`](crate::Logfmt).
///
/// On a terminal, if it is a standard stream of `tach-pipeline`, the level has a color, and time,
/// target and keys are faint.
///
/// # Guarantees
///
/// One event is one line, whatever it holds, unless [`multiline`](Self::multiline) says otherwise:
/// then each further line begins with spaces. The control characters of ASCII and Latin-1, the line
/// ends of Unicode and the marks that reorder text are escaped as in JSON (`\n`, `\u001b`), so that
/// no text forges a line or drives a terminal. In a key, `_` replaces `"`, `=`, `\` and every
/// character that is neither alphanumeric nor a mark of ASCII; if another field has that key, `_`
/// or `_2` and so on follows.
///
/// If the `Display` of a message or value fails or panics, `<failed to format>` or `<panicked>`
/// follows the text before.
///
/// # Examples
///
/// ```
/// use log::Record;
/// use tach_log::{Line, display};
///
/// let record = Record::builder().target("app").args(format_args!("two\nlines")).build();
/// assert!(display(Line::new(), &record).to_string().ends_with(r"Z INFO  app: two\nlines"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a part that a line has or lacks")]
pub struct Line {
    style: Style,
    time: Option<Time>,
    has_level: bool,
    has_target: bool,
    has_ids: bool,
    has_span_fields: bool,
    has_site: bool,
    has_pid: bool,
    has_host: bool,
    has_lines_below: bool,
    target_width: usize,
    max_target_width: usize,
}

/// The order and the quotes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Full,
    Compact,
    Tracing,
    TracingCompact,
}

impl Line {
    fn write_line<const COLORS: bool>(
        &self,
        event: &Event<'_>,
        to: &mut Vec<u8>,
    ) -> io::Result<()> {
        if matches!(self.style, Style::Tracing | Style::TracingCompact) {
            return tracing::write::<COLORS>(self, event, to);
        }
        let is_compact = self.style == Style::Compact;
        let start = to.len();
        self.write_head::<COLORS>(event, to);
        let target = &*self.target_of(event);
        if !is_compact && !target.is_empty() {
            self.write_target::<COLORS>(target, to);
        }
        let site = self.site_of(event);
        if let Some(site) = site.filter(|_| !is_compact) {
            to.push(b' ');
            write_site::<COLORS>(site, to)?;
        }
        let mut below = Vec::new();
        if !event.message().is_empty() {
            to.push(b' ');
            self.write_message(event.message(), to, &mut below);
        }
        let ids = self.ids_of(event);
        let names_spans = event.has_spans() && !is_compact;
        if names_spans {
            to.push(b' ');
            faint::<COLORS>(to, |to| to.extend_from_slice(b"span="));
            key_value::write_span_names(to, event)?;
        }
        let mut names = Names::default();
        let write = |key: &str, value: Value<'_>| {
            if ids.is_some_and(|ids| ids.has(key, value)) {
                return Ok(());
            }
            let is_below = self.writes_below(value);
            let to = if is_below { &mut below } else { &mut *to };
            to.extend_from_slice(if is_below { below::BEFORE } else { b" " });
            faint::<COLORS>(to, |to| {
                let is_taken = names_spans && key == SPAN || ids.is_some() && is_id_key(key);
                if key_value::is_plain(key) && !is_taken {
                    to.extend_from_slice(key.as_bytes());
                } else {
                    let head = [SPAN, TRACE_ID, SPAN_ID];
                    let head = if ids.is_some() { &head[..] } else { &head[..1] };
                    let head = if names_spans { head } else { &head[1..] };
                    key_value::write_name(to, key, head, &mut names, event);
                }
                to.push(if is_below { b':' } else { b'=' });
            });
            match value {
                value if is_below => below::write_value(to, value),
                // JSON quotes its own texts, so the value needs no quotes around it.
                Value::Json(json) => to.extend_from_slice(json.as_bytes()),
                value => key_value::write_value(to, value),
            }
            Ok(())
        };
        if self.has_span_fields {
            event.fields(write)?;
        } else {
            event.own_fields(write)?;
        }
        write_ids::<COLORS>(ids, to);
        if is_compact && (!target.is_empty() || site.is_some() || event.has_spans()) {
            write_end::<COLORS>(target, site, event, to)?;
        }
        // Each part begins with a space, which the first part of the line must not.
        if to.get(start) == Some(&b' ') {
            to.remove(start);
        }
        to.extend_from_slice(&below);
        to.push(b'\n');
        Ok(())
    }

    /// Writes the message. If its further lines are to stand below, adds them there.
    #[inline]
    fn write_message(&self, message: &str, to: &mut Vec<u8>, below: &mut Vec<u8>) {
        if self.has_lines_below {
            below::write_message(to, message, below);
        } else {
            escape::write::<false>(to, message);
        }
    }

    /// Returns whether a value stands below the line.
    #[inline]
    fn writes_below(&self, value: Value<'_>) -> bool {
        self.has_lines_below && below::has_lines(value)
    }

    /// Writes time and level.
    #[inline]
    fn write_head<const COLORS: bool>(&self, event: &Event<'_>, to: &mut Vec<u8>) {
        if let Some(time) = self.time {
            faint::<COLORS>(to, |to| match time {
                Time::DEFAULT if self.style == Style::Full => super::time(to, event.time()),
                time => time.write(to, event.time()),
            });
        }
        if self.has_level {
            to.push(b' ');
            let level = event.level_name();
            if COLORS {
                to.extend_from_slice(color(level));
            }
            to.extend_from_slice(level.as_bytes());
            if COLORS {
                to.extend_from_slice(PLAIN);
            }
            to.extend_from_slice(LEVEL_WIDTH.get(level.len()..).unwrap_or_default());
        }
        if self.has_process() {
            to.push(b' ');
            faint::<COLORS>(to, |to| self.write_process(to));
        }
    }

    const fn has_process(&self) -> bool {
        self.has_pid || self.has_host
    }

    /// Writes the machine and the process.
    fn write_process(&self, to: &mut Vec<u8>) {
        if self.has_host {
            escape::write::<false>(to, host_name());
        }
        if self.has_pid {
            to.push(b'[');
            // Read the number for each line: a forked child would write a cached number of its
            // parent.
            write_plain(to, Value::U64(process::id().into()));
            to.push(b']');
        }
    }

    /// Returns the ids that the line has.
    #[inline]
    fn ids_of(&self, event: &Event<'_>) -> Option<Ids> {
        if self.has_ids { Ids::of(event) } else { None }
    }

    /// Returns the file and the line that the line has.
    #[inline]
    fn site_of<'a>(&self, event: &Event<'a>) -> Option<(&'a str, u32)> {
        if self.has_site { event.file().zip(event.line()) } else { None }
    }

    /// Returns the target that the line has, or an empty text.
    #[inline]
    fn target_of<'a>(&self, event: &Event<'a>) -> Cow<'a, str> {
        match event.target() {
            _ if !self.has_target => Cow::Borrowed(""),
            // A target has at most as many characters as bytes, so most need no count.
            target if target.len() <= self.max_target_width => Cow::Borrowed(target),
            target => short::shortened(target, self.max_target_width),
        }
    }

    fn write_target<const COLORS: bool>(&self, target: &str, to: &mut Vec<u8>) {
        to.push(b' ');
        let start = to.len();
        faint::<COLORS>(to, |to| {
            escape::write::<false>(to, target);
            to.push(b':');
        });
        if self.target_width > 0 {
            let text = to.get(start..).and_then(|text| str::from_utf8(text).ok());
            let codes = if COLORS { FAINT.len() + PLAIN.len() } else { 0 };
            let width = text.map_or(0, |text| text.chars().count() - codes);
            // Add one column, for the colon after the target.
            let missing = (self.target_width.min(WIDEST) + 1).saturating_sub(width);
            to.resize(to.len() + missing, b' ');
        }
    }
}

/// Returns [`Line::new`].
impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

impl Format for Line {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        if event.is_line() {
            made_line(to, event);
            return Ok(());
        }
        if event.shows_colors() {
            self.write_line::<true>(event, to)
        } else {
            self.write_line::<false>(event, to)
        }
    }

    #[inline]
    fn wants_site(&self) -> bool {
        self.has_site
    }

    fn faults(&self) -> Vec<String> {
        let mut faults: Vec<_> = self.time.and_then(Time::fault).into_iter().collect();
        let width = self.target_width;
        let wrong = match self.style {
            _ if !self.has_target => Some("without_target() leaves the target out"),
            Style::Full => (width > WIDEST).then_some("a target has 256 columns at most"),
            Style::Compact => Some("a compact line ends with the target, so leave the width out"),
            Style::Tracing | Style::TracingCompact => {
                Some("tracing's targets have no width, so leave the width out")
            }
        };
        if let Some(wrong) = wrong.filter(|_| width > 0) {
            faults.push(format!("target_width({width}): {wrong}"));
        }
        if !self.has_target && self.max_target_width < usize::MAX {
            let width = self.max_target_width;
            faults
                .push(format!("max_target_width({width}): without_target() leaves the target out"));
        }
        faults.iter().map(|fault| format!("Line::{fault}")).collect()
    }
}

/// Writes the file and the line, as tracing-subscriber does.
fn write_site<const COLORS: bool>((file, line): (&str, u32), to: &mut Vec<u8>) -> io::Result<()> {
    faint::<COLORS>(to, |to| escape::write::<false>(to, file));
    faint::<COLORS>(to, |to| to.push(b':'));
    let mut done = Ok(());
    faint::<COLORS>(to, |to| done = write!(to, "{line}:"));
    done
}

/// Writes the target, the file with the line, and the names of the spans at the end of a compact
/// line.
fn write_end<const COLORS: bool>(
    target: &str,
    site: Option<(&str, u32)>,
    event: &Event<'_>,
    to: &mut Vec<u8>,
) -> io::Result<()> {
    to.push(b' ');
    if COLORS {
        to.extend_from_slice(FAINT);
    }
    to.push(b'[');
    escape::write::<false>(to, target);
    if let Some((file, line)) = site {
        if !target.is_empty() {
            to.push(b' ');
        }
        escape::write::<false>(to, file);
        write!(to, ":{line}")?;
    }
    if event.has_spans() {
        if !target.is_empty() || site.is_some() {
            to.push(b' ');
        }
        span_names(to, event)?;
    }
    to.push(b']');
    if COLORS {
        to.extend_from_slice(PLAIN);
    }
    Ok(())
}

/// Writes the ids, with a space before each.
#[inline]
fn write_ids<const COLORS: bool>(ids: Option<Ids>, to: &mut Vec<u8>) {
    if let Some(ids) = ids {
        ids.each(|key, id| faint::<COLORS>(to, |to| key_value::write_id(to, key, id)));
    }
}

#[inline]
fn faint<const COLORS: bool>(to: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    if COLORS {
        to.extend_from_slice(FAINT);
    }
    write(to);
    if COLORS {
        to.extend_from_slice(PLAIN);
    }
}

fn color(level: &str) -> &'static [u8] {
    match level {
        "CRITICAL" => b"\x1b[1;31m",
        "ERROR" => b"\x1b[31m",
        "WARN" => b"\x1b[33m",
        "INFO" => b"\x1b[32m",
        "DEBUG" => b"\x1b[34m",
        _ => b"\x1b[35m",
    }
}
