//! Writes a dump as trace events of Chrome, in JSON (the "Trace Event Format").

use core::cmp::Reverse;
use core::fmt;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::process;
use std::sync::Arc;

use tach_core::UnixTime;
use tach_log::Value;
use tach_log::adapter::{Fields as _, Site, json_value, quoted};

use crate::format::FlightFormat;
use crate::ring::{Item, Stored};
use crate::snapshot::Snapshot;
use tach_core::adapter::program_name;
use tach_record::frame::{Frame, What};
use tach_spans::spans::span::{Item as Part, Span};

/// How many bytes are gathered for one write.
const WRITTEN: usize = 64 * 1024;
/// The time that stands for the end of an open span.
const OPEN: u64 = u64::MAX;

impl FlightFormat {
    /// Trace events in JSON, which [Perfetto's viewer](https://ui.perfetto.dev) and Chrome's
    /// `chrome://tracing` open. Both read the file in the browser and send it nowhere.
    ///
    /// A span is drawn on its thread's track if it nests there. A span that takes turns with others
    /// on a thread, or moves to another one, as tasks do, is an asynchronous event, for which the
    /// viewers find room. Events are marks on their threads. Fields are arguments; those whose keys
    /// begin with `tach.` have the level, the place in the source and the ids, by which children on
    /// other tracks are found.
    ///
    /// Times are in microseconds with three decimals, since the dump's first span or event. The
    /// Unix time of that is in `otherData`, as `start`.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_pipeline::FlightFormat::trace_events();
    /// ```
    #[must_use]
    pub fn trace_events() -> Self {
        Self { extension: "json", write: Arc::new(write), ignored: Vec::new() }
    }
}

/// Writes a dump.
///
/// # Errors
///
/// If `to` fails.
fn write(snapshot: &Snapshot, to: &mut dyn io::Write) -> io::Result<()> {
    let mut out = Events::begin(to, first_time(snapshot))?;
    let mut threads = Threads::default();
    for shown in spans(snapshot) {
        let Some(span) = shown.stored.span(&snapshot.redacted) else { continue };
        let is_on_thread = threads.has_room(&span, &shown);
        out.span(&span, is_on_thread)?;
    }
    for item in snapshot.items() {
        let Item::Event(time, record) = item else { continue };
        let Some(event) = Frame::read(record) else { continue };
        out.event(&event.redacted(&snapshot.redacted), time)?;
    }
    out.end()
}

/// Returns the time of the first event or start of a span.
fn first_time(snapshot: &Snapshot) -> UnixTime {
    let times = snapshot.items().map(|item| match item {
        Item::Span(stored) => stored.kept.start,
        Item::Event(time, _) => time,
    });
    times.min().unwrap_or(UnixTime::EPOCH)
}

/// The number of a thread that was ending when it logged.
const ENDING: u64 = 0;

/// A span's start and end. The span is read again: a dump may have hundreds of thousands, and the
/// process may be short of memory.
struct Shown<'a> {
    start: u64,
    end: u64,
    stored: Stored<'a>,
}

/// Returns the spans in the order of their starts, parents before children.
fn spans(snapshot: &Snapshot) -> Vec<Shown<'_>> {
    let spans = || {
        snapshot.items().filter_map(|item| match item {
            Item::Span(stored) => Some(stored),
            Item::Event(..) => None,
        })
    };
    // Count the spans first: a vector that grows takes up to three times as much memory.
    let mut shown = Vec::with_capacity(spans().count());
    shown.extend(spans().map(|stored| {
        let span = stored.kept;
        let end = if span.is_unfinished { OPEN } else { span.end.as_nanos() };
        Shown { start: span.start.as_nanos(), end, stored }
    }));
    // Spans are added when they end, so children come before their parents. Reversed, a parent
    // precedes a child with the same times.
    shown.reverse();
    shown.sort_by_key(|shown| (shown.start, Reverse(shown.end)));
    shown
}

/// The spans that are open on each thread, with their ends and ids, the innermost one last.
#[derive(Default)]
struct Threads(BTreeMap<u64, Vec<(u64, u64)>>);

impl Threads {
    /// Returns whether the next span can be drawn on its thread: within its parent, or where no
    /// span is open. A viewer would draw a task that takes turns with others as their child.
    fn has_room(&mut self, span: &Span<'_>, shown: &Shown<'_>) -> bool {
        let Some(thread) = span.first.1.site().thread_id.filter(|_| span.is_on_one_thread) else {
            return false;
        };
        let open = self.0.entry(thread).or_default();
        open.truncate(open.iter().position(|(end, _)| *end <= shown.start).unwrap_or(open.len()));
        let has_room =
            open.last().is_none_or(|(end, id)| shown.end <= *end && *id == span.parent());
        if has_room {
            open.push((shown.end, span.context.span));
        }
        has_room
    }
}

/// Writes the events of the file.
struct Events<'a> {
    to: &'a mut dyn io::Write,
    bytes: Vec<u8>,
    first: UnixTime,
    process: u32,
    /// The threads whose names were written.
    named: BTreeSet<u64>,
}

impl<'a> Events<'a> {
    fn begin(to: &'a mut dyn io::Write, first: UnixTime) -> io::Result<Self> {
        let (mut bytes, process) = (Vec::new(), process::id());
        write!(bytes, "{{\"otherData\":{{\"start\":\"{first}\"}},\"traceEvents\":[")?;
        write!(bytes, r#"{{"ph":"M","pid":{process},"name":"process_name","args":{{"name":"#)?;
        quoted(&mut bytes, program_name());
        bytes.extend_from_slice(b"}}");
        Ok(Self { to, bytes, first, process, named: BTreeSet::new() })
    }

    /// Writes the rest of the file.
    fn end(mut self) -> io::Result<()> {
        self.bytes.extend_from_slice(b"\n]}\n");
        self.to.write_all(&self.bytes)?;
        self.to.flush()
    }

    fn span(&mut self, span: &Span<'_>, is_on_thread: bool) -> io::Result<()> {
        let (start, first) = &span.first;
        let site = first.site();
        // An open span has no end, so only its beginning is written.
        let phase = match (is_on_thread, span.is_unfinished) {
            (true, false) => "X",
            (true, true) => "B",
            (false, _) => "b",
        };
        self.head(phase, &site, span.start)?;
        if phase == "X" {
            let length = span.end.as_nanos().saturating_sub(span.start.as_nanos());
            write!(self.bytes, ",\"dur\":{}", Micros(length))?;
        }
        let id = format!(",\"id\":\"{:016x}\"", span.context.span);
        if !is_on_thread {
            self.bytes.extend_from_slice(id.as_bytes());
        }
        self.args(start.level.name(), start.target, &site);
        self.arg("tach.trace_id", Value::Str(&format!("{:032x}", span.context.trace)));
        self.arg("tach.span_id", Value::Str(&format!("{:016x}", span.context.span)));
        let parent = span.parent();
        if parent != 0 {
            self.arg("tach.parent_id", Value::Str(&format!("{parent:016x}")));
        }
        for (key, is_so) in
            [("tach.unfinished", span.is_unfinished), ("tach.incomplete", span.is_incomplete())]
        {
            if is_so {
                self.arg(key, Value::Bool(true));
            }
        }
        let mut name = start.name.to_owned();
        let last = span.last_values();
        for (at, item) in span.items().enumerate() {
            let Part::Part(part) = item else { continue };
            let Some(fields) = part.span_fields() else { continue };
            fields.visit(&mut |key, value| {
                match (key, value) {
                    ("otel.name", Value::Str(text)) => text.clone_into(&mut name),
                    _ if last.is_recorded_again(at, key) => {}
                    (key, value) => self.arg(key, value),
                }
                Ok(())
            })?;
        }
        let links = span.own_parts().filter_map(|part| match part.what {
            What::Link(linked) => Some(format!("{:016x}", linked.context.span)),
            _ => None,
        });
        let links: Vec<_> = links.collect();
        if !links.is_empty() {
            self.arg("tach.follows_from", Value::Str(&links.join(" ")));
        }
        self.end_event(&name)?;
        if phase == "b" && !span.is_unfinished {
            self.head("e", &site, span.end)?;
            self.bytes.extend_from_slice(id.as_bytes());
            self.category(start.target);
            self.bytes.extend_from_slice(b",\"args\":{");
            self.end_event(&name)?;
        }
        // Events that a span's own methods added are items of the span.
        for item in span.items() {
            if let Part::Event(event, time) = item {
                self.event(&event, time)?;
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Frame<'_>, time: UnixTime) -> io::Result<()> {
        self.head("i", &event.site, time)?;
        self.bytes.extend_from_slice(b",\"s\":\"t\"");
        self.args(event.level.name(), event.target, &event.site);
        event.fields.visit_own(&mut |key, value| {
            self.arg(key, value);
            Ok(())
        })?;
        self.end_event(if event.message.is_empty() { "event" } else { event.message })
    }

    /// Begins an event of the file. Names its thread before the first one.
    fn head(&mut self, phase: &str, site: &Site<'_>, time: UnixTime) -> io::Result<()> {
        let (process, thread) = (self.process, site.thread_id.unwrap_or(ENDING));
        if let Some(name) = site.thread_name.filter(|_| self.named.insert(thread)) {
            write!(self.bytes, ",\n{{\"ph\":\"M\",\"pid\":{process},\"tid\":{thread},")?;
            self.bytes.extend_from_slice(b"\"name\":\"thread_name\",\"args\":{\"name\":");
            quoted(&mut self.bytes, name);
            self.bytes.extend_from_slice(b"}}");
        }
        let time = Micros(time.as_nanos().saturating_sub(self.first.as_nanos()));
        let to = &mut self.bytes;
        write!(to, ",\n{{\"ph\":\"{phase}\",\"pid\":{process},\"tid\":{thread},\"ts\":{time}")
    }

    fn category(&mut self, target: &str) {
        self.bytes.extend_from_slice(b",\"cat\":");
        quoted(&mut self.bytes, target);
    }

    /// Writes the category of an event, and begins the arguments.
    fn args(&mut self, level: &str, target: &str, site: &Site<'_>) {
        self.category(target);
        self.bytes.extend_from_slice(b",\"args\":{");
        self.arg("tach.level", Value::Str(level));
        if let (Some(file), Some(line)) = (site.file, site.line) {
            self.arg("tach.place", Value::Str(&format!("{file}:{line}")));
        }
    }

    fn arg(&mut self, key: &str, value: Value<'_>) {
        if self.bytes.last() != Some(&b'{') {
            self.bytes.push(b',');
        }
        quoted(&mut self.bytes, key);
        self.bytes.push(b':');
        // The viewers round an integer that does not fit in an `i64`.
        let is_wide = match value {
            Value::U64(number) => i64::try_from(number).is_err(),
            Value::I128(number) => i64::try_from(number).is_err(),
            Value::U128(number) => i64::try_from(number).is_err(),
            _ => false,
        };
        if is_wide {
            quoted(&mut self.bytes, &value.to_string());
        } else {
            json_value(&mut self.bytes, value);
        }
    }

    /// Ends the arguments and the event, whose name is known by then.
    fn end_event(&mut self, name: &str) -> io::Result<()> {
        self.bytes.extend_from_slice(b"},\"name\":");
        quoted(&mut self.bytes, name);
        self.bytes.push(b'}');
        if self.bytes.len() >= WRITTEN {
            self.to.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }
}

/// Nanoseconds, printed as microseconds with three decimals.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::ring::Ring;
    use crate::ring::tests::{span, span_record};
    use tach_spans::spans::span::Dropped;

    #[test]
    fn a_span_that_may_lack_parts_has_a_mark() {
        let record = span_record();
        for is_more in [false, true] {
            let mut ring = Ring::new(64 * 1024, Duration::MAX);
            let dropped = Dropped { is_more, ..Dropped::default() };
            ring.span(&Span { dropped, ..span(&record, 1) });
            let mut written = Vec::new();
            write(&Snapshot::new(&ring, UnixTime::EPOCH, Arc::default()), &mut written).unwrap();
            let is_marked = String::from_utf8_lossy(&written).contains("tach.incomplete");
            assert_eq!(is_marked, is_more);
        }
    }
}
