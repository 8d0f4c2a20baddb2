//! Gathers the spans of each trace, and writes them as a tree.

use core::fmt::Write as _;
use core::time::Duration;
use std::collections::{HashMap, VecDeque};

use tach_core::UnixTime;
use tach_core::adapter::rfc3339;
use tach_log::Value;
use tach_log::adapter::Fields as _;

use super::span::{Item, Span};
use tach_record::frame::{Frame, SpanPart};
use tach_record::level::Level;

/// How many bytes of spans wait for the ends of the spans around them.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// The memory of a span without its texts, estimated.
const SPAN_BYTES: usize = 200;
/// The longest prefix of a line of a deep tree, in bytes.
const MOST_PREFIX: usize = 160;
/// The number of decimal places of a second.
const DIGITS: usize = 6;

/// The ended spans whose enclosing span is still open. They wait, because a tree is written from
/// its root, and a span ends after those within it.
#[derive(Debug, Default)]
pub struct Trees {
    nodes: HashMap<u64, Node>,
    /// The ids of the waiting spans, by the id of the enclosing span.
    below: HashMap<u64, Vec<u64>>,
    /// The ids in the order in which the spans have ended.
    order: VecDeque<u64>,
    /// How many spans were taken since taken spans were last removed from `below` and `order`.
    taken: usize,
    bytes: usize,
}

/// A span that has ended.
#[derive(Debug)]
struct Node {
    trace: u128,
    id: u64,
    /// The id of the enclosing span, or zero.
    parent: u64,
    start: UnixTime,
    end: UnixTime,
    text: String,
    events: Vec<(UnixTime, String)>,
    /// Whether the span is accepted.
    is_shown: bool,
}

impl Trees {
    /// Adds a span with the events that `accepts` accepts. If the span is a root, returns its tree.
    pub fn add(&mut self, span: &Span<'_>, accepts: &dyn Fn(Level, &str) -> bool) -> String {
        self.add_node(Node::new(span, accepts))
    }

    fn add_node(&mut self, node: Node) -> String {
        let (id, parent) = (node.id, node.parent);
        // The children of a span that is not shown are shown in its place.
        let here =
            if node.is_shown { vec![id] } else { self.below.remove(&id).unwrap_or_default() };
        if node.is_shown {
            self.bytes += node.bytes();
            self.order.push_back(id);
            self.nodes.insert(id, node);
        }
        if parent == 0 {
            return self.take(here);
        }
        if !here.is_empty() {
            self.below.entry(parent).or_default().extend(here);
        }
        if self.bytes > MOST_BYTES { self.take_oldest() } else { String::new() }
    }

    /// Returns the trees of all spans that wait, since no further ones come.
    pub fn take_all(&mut self) -> String {
        let mut all = String::new();
        while !self.nodes.is_empty() {
            all += &self.take_oldest();
        }
        *self = Self::default();
        all
    }

    /// Returns the tree with the span that has waited longest.
    fn take_oldest(&mut self) -> String {
        let mut top = loop {
            let Some(id) = self.order.pop_front() else { return String::new() };
            if self.nodes.contains_key(&id) {
                break id;
            }
        };
        // `set_parent` can make spans each other's parents, so the way up may have no end.
        for _ in 0..self.nodes.len() {
            let above = self.nodes.get(&top).map(|node| node.parent);
            let Some(above) = above.filter(|id| self.nodes.contains_key(id)) else { break };
            top = above;
        }
        self.take(vec![top])
    }

    /// Removes spans and all spans within them, and returns their lines.
    fn take(&mut self, tops: Vec<u64>) -> String {
        let mut text = String::new();
        let first = tops.iter().filter_map(|id| self.nodes.get(id)).min_by_key(|node| node.start);
        let Some(&Node { trace, start, .. }) = first else { return text };
        rfc3339::with_text_digits(start, DIGITS, |time| {
            let _written = writeln!(text, "{time} trace {trace:032x}");
        });
        let tops = tops.into_iter().filter_map(|id| self.line(id)).collect();
        // Don't recurse: a trace may be so deep that recursion would overflow the thread's stack.
        let mut stack = Vec::new();
        push(&mut stack, tops, None);
        while let Some(Prefixed { line, own, below }) = stack.pop() {
            let began = format!("{:.1?}", since(start, line.start));
            let took = line.took.map(|took| format!("{took:.1?}")).unwrap_or_default();
            let _written = writeln!(text, "{began:>10}{took:>10} {own}{}", line.text);
            let spans = self.below.remove(&line.span).unwrap_or_default();
            let mut lines: Vec<_> = spans.into_iter().filter_map(|id| self.line(id)).collect();
            lines.extend(line.events.into_iter().map(|(start, text)| Line {
                start,
                text,
                ..Line::default()
            }));
            push(&mut stack, lines, Some(&below));
        }
        // Clean up seldom, because this visits all waiting spans.
        if self.taken > self.nodes.len() + 64 {
            self.taken = 0;
            self.order.retain(|id| self.nodes.contains_key(id));
            self.below.values_mut().for_each(|ids| ids.retain(|id| self.nodes.contains_key(id)));
            self.below.retain(|_, ids| !ids.is_empty());
        }
        text
    }

    /// Removes a span and returns its line.
    fn line(&mut self, id: u64) -> Option<Line> {
        let node = self.nodes.remove(&id)?;
        self.bytes -= node.bytes();
        self.taken += 1;
        let took = Some(since(node.start, node.end));
        Some(Line { start: node.start, took, span: id, text: node.text, events: node.events })
    }
}

/// A line of a tree: a span, or an event.
#[derive(Default)]
struct Line {
    start: UnixTime,
    took: Option<Duration>,
    /// The id of the span, or zero.
    span: u64,
    text: String,
    events: Vec<(UnixTime, String)>,
}

/// A line with its own prefix, and the prefix of the lines below it.
struct Prefixed {
    line: Line,
    own: String,
    below: String,
}

/// Adds lines to the stack, the first one last. The lines at the top have no prefix.
fn push(stack: &mut Vec<Prefixed>, mut lines: Vec<Line>, prefix: Option<&str>) {
    lines.sort_by_key(|line| line.start);
    for (at, line) in lines.into_iter().rev().enumerate() {
        let (own, below) = match prefix {
            None => (String::new(), String::new()),
            Some(prefix) => {
                let (own, below) = if at == 0 { ("└ ", "  ") } else { ("├ ", "│ ") };
                let below = if prefix.len() < MOST_PREFIX { below } else { "" };
                (format!("{prefix}{own}"), format!("{prefix}{below}"))
            }
        };
        stack.push(Prefixed { line, own, below });
    }
}

/// Returns the time from `earlier` to `later`, or zero if `later` comes first.
fn since(earlier: UnixTime, later: UnixTime) -> Duration {
    later.checked_duration_since(earlier).unwrap_or_default()
}

impl Node {
    /// Returns the span with the events that `accepts` accepts.
    fn new(span: &Span<'_>, accepts: &dyn Fn(Level, &str) -> bool) -> Self {
        let (start, _) = &span.first;
        let mut node = Self {
            trace: span.context.trace,
            id: span.context.span,
            parent: span.parent(),
            start: span.start,
            end: span.end,
            text: String::new(),
            events: Vec::new(),
            is_shown: accepts(start.level, start.target),
        };
        let mut name = Value::Str(start.name).to_string();
        let last = span.last_values();
        for (at, item) in span.items().enumerate() {
            match item {
                Item::Part(part) => {
                    node.fields(&part, &mut name, |key| !last.is_recorded_again(at, key));
                }
                Item::Event(event, time) if accepts(event.level, event.target) => {
                    node.events.push((time, text_of(&event)));
                }
                Item::Event(..) => {}
            }
        }
        node.text.insert_str(0, &name);
        node
    }

    fn bytes(&self) -> usize {
        let events: usize = self.events.iter().map(|(_, text)| text.len()).sum();
        SPAN_BYTES + self.text.len() + events
    }

    /// Appends the fields of a part, except for those that only OpenTelemetry reads: `otel.name`
    /// goes to `name`.
    fn fields(&mut self, part: &SpanPart<'_>, name: &mut String, is_last: impl Fn(&str) -> bool) {
        let Some(fields) = part.span_fields() else { return };
        let visited = fields.visit_own(&mut |key, value| {
            match value {
                _ if !is_last(key) => {}
                Value::Str(_) if key == "otel.name" => *name = value.to_string(),
                _ if key.starts_with("otel.") => {}
                value => field(&mut self.text, key, value),
            }
            Ok(())
        });
        debug_assert!(visited.is_ok(), "a text has room");
    }
}

fn text_of(event: &Frame<'_>) -> String {
    let [target, message] = [event.target, event.message].map(Value::Str);
    let mut text = format!("{:>5} {target}: {message}", event.level.name());
    let visited = event.fields.visit_own(&mut |key, value| {
        field(&mut text, key, value);
        Ok(())
    });
    debug_assert!(visited.is_ok(), "a text has room");
    text
}

/// Appends a field. A text gets quotes.
fn field(to: &mut String, key: &str, value: Value<'_>) {
    let key = Value::Str(key);
    let _written = match value {
        Value::Str(text) => write!(to, " {key}={text:?}"),
        Value::Json(json) => write!(to, " {key}={}", Value::Str(json)),
        value => write!(to, " {key}={value}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u64, parent: u64, start: u64, end: u64) -> Node {
        Node {
            trace: 10,
            id,
            parent,
            start: UnixTime::from_nanos(start * 1_000),
            end: UnixTime::from_nanos(end * 1_000),
            text: format!("span {id}"),
            events: Vec::new(),
            is_shown: true,
        }
    }

    fn hidden(node: Node) -> Node {
        Node { is_shown: false, ..node }
    }

    /// Returns the lines of a tree without their times.
    fn lines(tree: &str) -> Vec<String> {
        tree.lines().skip(1).map(|line| line.chars().skip(21).collect()).collect()
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
        let mut trees = Trees::default();
        assert_eq!(spans.map(|span| trees.add_node(span)), ["", "", "", tree]);
        assert!(trees.nodes.is_empty() && trees.below.is_empty());
        assert_eq!(trees.bytes, 0);
    }

    #[test]
    fn two_requests_of_one_trace_have_a_tree_each() {
        let mut trees = Trees::default();
        let spans = [node(3, 1, 5, 6), node(4, 2, 5, 6), node(1, 0, 0, 10), node(2, 0, 0, 10)];
        let trees = spans.map(|span| lines(&trees.add_node(span)));
        assert_eq!(trees[2..], [["span 1", "└ span 3"], ["span 2", "└ span 4"]]);
    }

    #[test]
    fn spans_within_one_that_is_not_shown_stand_in_its_place() {
        let mut trees = Trees::default();
        let spans = [node(4, 3, 4, 5), hidden(node(3, 2, 3, 6)), node(2, 1, 2, 7)];
        let _nothing = spans.map(|span| trees.add_node(span));
        let tree = trees.add_node(hidden(node(1, 0, 1, 8)));
        assert_eq!(lines(&tree), ["span 2", "└ span 4"]);
        assert_eq!(trees.add_node(hidden(node(1, 0, 1, 8))), "");
    }

    #[test]
    fn what_waits_at_the_end_is_written() {
        let mut trees = Trees::default();
        let spans = [node(3, 2, 3, 4), node(2, 1, 2, 5), node(7, 6, 1, 2)];
        assert_eq!(spans.map(|span| trees.add_node(span)), ["", "", ""]);
        let all = trees.take_all();
        assert_eq!(all.matches(" trace ").count(), 2, "{all}");
        assert!(all.contains("└ span 3\n") && all.contains(" span 7\n"), "{all}");
        assert_eq!(trees.take_all(), "");
    }

    #[test]
    fn spans_that_are_each_other_s_parents_are_written() {
        let mut trees = Trees::default();
        let spans = [node(1, 2, 1, 4), node(2, 1, 2, 3), node(3, 3, 1, 2)];
        assert_eq!(spans.map(|span| trees.add_node(span)), ["", "", ""]);
        let all = trees.take_all();
        assert!((1..=3).all(|id| all.contains(&format!("span {id}\n"))), "{all}");
    }

    #[test]
    fn a_deep_trace_is_written_with_a_bound_for_each_line() {
        let mut trees = Trees::default();
        let mut tree = String::new();
        for id in (0..9_000).rev() {
            tree += &trees.add_node(node(id + 1, id, id, 20_000));
        }
        assert_eq!(tree.lines().count(), 1 + 9_000);
        assert!(tree.lines().all(|line| line.len() < MOST_PREFIX + 50));
    }

    #[test]
    fn what_waits_has_a_bound() {
        let each = node(100_000, 1, 0, 1).bytes();
        // The parents are lost, or one parent is open for long.
        for parents in [1_000_000, 1] {
            let (mut trees, mut written) = (Trees::default(), 0);
            for id in 0..100_000_u64 {
                let span = node(1_000_000 + id, 2_000_000 + id % parents, id, id + 1);
                written += lines(&trees.add_node(span)).len();
                assert!(trees.bytes <= MOST_BYTES + each);
            }
            assert_eq!(written + trees.nodes.len(), 100_000);
            let most = 2 * trees.nodes.len() + 64;
            assert!(written > 0 && trees.order.len() <= most && trees.below.len() <= most);
            assert!(trees.below.values().map(Vec::len).sum::<usize>() <= most);
        }
    }
}
