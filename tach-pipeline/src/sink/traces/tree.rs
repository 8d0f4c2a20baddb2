//! Gathers the spans of each trace, and writes them as a tree.

use core::fmt::Write as _;
use core::time::Duration;
use std::collections::{HashMap, HashSet, VecDeque};

use tach_core::UnixTime;
use tach_core::adapter::rfc3339;
use tach_log::Value;
use tach_log::adapter::Fields as _;

use crate::filter::Levels;
use crate::frame::{Frame, SpanPart};
use crate::spans::span::{Item, Span};

/// How many spans wait for the ends of their traces.
const MOST_WAITING: usize = 10_000;
/// How many of the traces that were written are known, for spans that end later.
const MOST_WRITTEN: usize = 64;

/// The longest text before the lines of a deep trace, in bytes.
const MOST_BEFORE: usize = 160;
/// The number of decimal places of a second.
const DIGITS: usize = 6;

/// The spans that wait, by the id of their trace.
#[derive(Default)]
pub(super) struct Trees {
    waiting: HashMap<u128, Vec<Node>>,
    /// The traces that wait, the oldest first.
    order: VecDeque<u128>,
    written: VecDeque<u128>,
    count: usize,
}

/// A span that has ended.
pub(super) struct Node {
    id: u64,
    parent: u64,
    start: UnixTime,
    end: UnixTime,
    text: String,
    events: Vec<(UnixTime, String)>,
}

impl Trees {
    /// Adds a span, and appends its trace if the span is the first one of it.
    pub(super) fn add(&mut self, trace: u128, node: Node, to: &mut Vec<u8>) {
        if self.written.contains(&trace) {
            return write(to, trace, &[node]);
        }
        let is_first = node.parent == 0;
        let nodes = self.waiting.entry(trace).or_insert_with(|| {
            self.order.push_back(trace);
            Vec::new()
        });
        nodes.push(node);
        self.count += 1;
        if is_first {
            self.write(trace, to);
        }
        while self.count > MOST_WAITING {
            let Some(&oldest) = self.order.front() else { return };
            self.write(oldest, to);
        }
    }

    fn write(&mut self, trace: u128, to: &mut Vec<u8>) {
        self.order.retain(|other| *other != trace);
        let Some(nodes) = self.waiting.remove(&trace) else { return };
        self.count -= nodes.len();
        if self.written.len() == MOST_WRITTEN {
            self.written.pop_front();
        }
        self.written.push_back(trace);
        write(to, trace, &nodes);
    }
}

/// A line of a tree: an event, or a span.
enum Line<'a> {
    Event(UnixTime, &'a str),
    Span(&'a Node),
}

impl Line<'_> {
    const fn start(&self) -> UnixTime {
        match self {
            Self::Event(time, _) => *time,
            Self::Span(node) => node.start,
        }
    }
}

/// Appends the spans of a trace. A trace may be as deep as it has spans, so nothing calls itself.
fn write(to: &mut Vec<u8>, trace: u128, nodes: &[Node]) {
    let ids: HashSet<_> = nodes.iter().map(|node| node.id).collect();
    let mut below: HashMap<u64, Vec<Line<'_>>> = HashMap::new();
    let mut roots = Vec::new();
    for node in nodes {
        let events = node.events.iter().map(|(time, text)| Line::Event(*time, text));
        below.entry(node.id).or_default().extend(events);
        let is_below = node.parent != node.id && ids.contains(&node.parent);
        let lines = if is_below { below.entry(node.parent).or_default() } else { &mut roots };
        lines.push(Line::Span(node));
    }
    let Some(start) = roots.iter().map(Line::start).min() else { return };
    let mut text = String::new();
    rfc3339::with_text_digits(start, DIGITS, |time| {
        let _written = writeln!(text, "{time} trace {trace:032x}");
    });
    // The next line is the last one, with the text that precedes it, and that of the lines below.
    let mut stack = Vec::new();
    push(&mut stack, roots, "", |_| ("", ""));
    while let Some((line, branch, further)) = stack.pop() {
        let began = format!("{:.1?}", since(start, line.start()));
        let (took, shown) = match line {
            Line::Event(_, event) => (String::new(), event),
            Line::Span(node) => (format!("{:.1?}", since(node.start, node.end)), &*node.text),
        };
        let _written = writeln!(text, "{began:>10}{took:>10} {branch}{shown}");
        if let Line::Span(node) = line {
            let lines = below.remove(&node.id).unwrap_or_default();
            push(&mut stack, lines, &further, |is_last| {
                if is_last { ("└ ", "  ") } else { ("├ ", "│ ") }
            });
        }
    }
    to.extend_from_slice(text.as_bytes());
}

/// Adds lines to the stack, the first one last. `ends` returns what a line has behind `before`, and
/// what the lines below it have there.
fn push<'a>(
    stack: &mut Vec<(Line<'a>, String, String)>,
    mut lines: Vec<Line<'a>>,
    before: &str,
    ends: impl Fn(bool) -> (&'static str, &'static str),
) {
    lines.sort_by_key(Line::start);
    for (at, line) in lines.into_iter().rev().enumerate() {
        let (here, further) = ends(at == 0);
        let further = if before.len() < MOST_BEFORE { further } else { "" };
        stack.push((line, format!("{before}{here}"), format!("{before}{further}")));
    }
}

/// Returns the time from one to another one, or zero.
fn since(earlier: UnixTime, later: UnixTime) -> Duration {
    later.checked_duration_since(earlier).unwrap_or_default()
}

impl Node {
    /// Returns the span with the events that the levels accept, or `None` if its start is unknown.
    pub(super) fn new(span: &Span<'_>, levels: &Levels) -> Option<Self> {
        let start = span.begin()?;
        let mut node = Self {
            id: span.context.span,
            parent: span.parent(),
            start: span.start,
            end: span.end,
            text: String::new(),
            events: Vec::new(),
        };
        let mut name = start.name.to_owned();
        let last = span.last_values();
        for (at, item) in span.items().enumerate() {
            match item {
                Item::Part(part) => {
                    node.fields(&part, &mut name, |key| !last.is_recorded_again(at, key));
                }
                Item::Event(event, time) if levels.enabled(event.level, event.target) => {
                    node.events.push((time, text_of(&event)));
                }
                Item::Event(..) => {}
            }
        }
        node.text.insert_str(0, &name);
        Some(node)
    }

    /// Appends the fields of a part, but for those that tell OpenTelemetry the name and the kind.
    fn fields(&mut self, part: &SpanPart<'_>, name: &mut String, is_last: impl Fn(&str) -> bool) {
        let Some(fields) = part.span_fields() else { return };
        let visited = fields.visit_own(&mut |key, value| {
            match value {
                _ if !is_last(key) => {}
                Value::Str(text) if key == "otel.name" => text.clone_into(name),
                _ if key.starts_with("otel.") => {}
                value => field(&mut self.text, key, value),
            }
            Ok(())
        });
        debug_assert!(visited.is_ok(), "a text has room");
    }
}

fn text_of(event: &Frame<'_>) -> String {
    let message = Value::Str(event.message);
    let mut text = format!("{:>5} {}: {message}", event.level.name(), event.target);
    let visited = event.fields.visit_own(&mut |key, value| {
        field(&mut text, key, value);
        Ok(())
    });
    debug_assert!(visited.is_ok(), "a text has room");
    text
}

/// Appends a field, a text with quotes.
fn field(to: &mut String, key: &str, value: Value<'_>) {
    let key = Value::Str(key);
    let _written = match value {
        Value::Str(text) => write!(to, " {key}={text:?}"),
        value => write!(to, " {key}={value}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u64, parent: u64, start: u64, end: u64) -> Node {
        Node {
            id,
            parent,
            start: UnixTime::from_nanos(start * 1_000),
            end: UnixTime::from_nanos(end * 1_000),
            text: format!("span {id}"),
            events: Vec::new(),
        }
    }

    /// Returns what each added span has written.
    fn written(trees: &mut Trees, nodes: impl IntoIterator<Item = (u128, Node)>) -> Vec<String> {
        let mut written = Vec::new();
        for (trace, node) in nodes {
            let mut to = Vec::new();
            trees.add(trace, node, &mut to);
            written.push(String::from_utf8(to).unwrap());
        }
        written
    }

    #[test]
    fn a_trace_is_a_tree_when_its_first_span_has_ended() {
        let mut query = node(3, 2, 1_200, 2_000);
        query.events.push((UnixTime::from_nanos(1_500_000), " WARN db: slow".to_owned()));
        let spans =
            [query, node(2, 1, 1_100, 2_500), node(4, 1, 3_000, 3_400), node(1, 0, 1_000, 4_000)];
        let tree = "1970-01-01T00:00:00.001000Z trace 0000000000000000000000000000000a
     0.0ns     3.0ms span 1
   100.0µs     1.4ms ├ span 2
   200.0µs   800.0µs │ └ span 3
   500.0µs           │   └  WARN db: slow
     2.0ms   400.0µs └ span 4
";
        let written = written(&mut Trees::default(), spans.map(|span| (10, span)));
        assert_eq!(written, ["", "", "", tree]);
    }

    #[test]
    fn a_span_that_ends_later_is_written_alone() {
        let mut trees = Trees::default();
        let spans = [node(1, 0, 0, 10), node(2, 1, 5, 20)];
        let written = written(&mut trees, spans.map(|span| (1, span)));
        assert!(written[1].contains("span 2") && !written[1].contains("span 1"), "{written:?}");
        assert_eq!((trees.count, trees.order.len()), (0, 0));
    }

    #[test]
    fn a_deep_trace_is_written_with_a_bound_for_each_line() {
        let mut trees = Trees::default();
        let spans = (0..9_000_u64).rev().map(|id| (1, node(id + 1, id, id, 20_000)));
        let written = written(&mut trees, spans).concat();
        assert_eq!(written.lines().count(), 1 + 9_000);
        assert!(written.lines().all(|line| line.len() < MOST_BEFORE + 50));
    }

    #[test]
    fn what_waits_has_a_bound() {
        let mut trees = Trees::default();
        let spans = (0..20_000_u64).map(|id| (u128::from(id / 4), node(id + 2, 1, id, id + 1)));
        let written = written(&mut trees, spans);
        assert_eq!(written.concat().matches("span ").count(), 20_000 - MOST_WAITING);
        assert_eq!(trees.waiting.values().map(Vec::len).sum::<usize>(), MOST_WAITING);
        assert_eq!(trees.written.len(), MOST_WRITTEN);
    }
}
