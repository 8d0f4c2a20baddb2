//! What the programs do that are measured: the same spans by tracing and by fastrace.

use std::any::Any;
use std::time::Duration;
use std::{fs, thread};

/// The spans of which `cargo xtask prices` counts the instructions.
#[path = "../../../../xtask/prices/src/spans.rs"]
mod spans;

const OPEN: usize = 100_000;

/// A program as the way has it.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    /// A root span with three attributes, an event with one, and a child span.
    pub(crate) unit: fn(usize),
    /// Twelve spans and three events.
    pub(crate) request: fn(usize),
    /// Returns the bytes of an open root span, without its handle.
    pub(crate) open: fn() -> f64,
    /// A root span without attributes.
    pub(crate) plain: fn(usize),
    /// Such a span in the span that the thread is in.
    pub(crate) child: fn(usize),
    /// Enters a root span until the value is dropped.
    pub(crate) enter: fn() -> Box<dyn Any>,
}

/// Returns the program of a way.
pub(crate) fn program(way: &str) -> Program {
    match way {
        "fastrace" => with_fastrace::SAMPLED,
        "fastrace, unsampled" => with_fastrace::UNSAMPLED,
        _ => WITH_TRACING,
    }
}

const WITH_TRACING: Program = Program {
    plain: spans::root,
    child: spans::child,
    enter: || Box::new(tracing::info_span!(parent: None, "request").entered()),
    unit: spans::unit,
    request: spans::request,
    open: || {
        bytes_of_open(
            |number| tracing::info_span!(parent: None, "open", method = "GET", number, path = "/users"),
        )
    },
};

/// The same spans by fastrace, whose attributes are texts.
mod with_fastrace {
    use std::any::Any;
    use std::hint::black_box;

    use fastrace::prelude::{Event, LocalSpan, Span, SpanContext};

    use super::spans::{BETWEEN_EVENTS, QUERIES};
    use super::{Program, bytes_of_open};

    pub(super) const SAMPLED: Program = Program {
        plain: |_| plain(true),
        child,
        enter: || enter(true),
        unit: |number| unit(number, true),
        request: |number| request(number, true),
        open: || bytes_of_open(|number| root("open", number, true)),
    };
    pub(super) const UNSAMPLED: Program = Program {
        plain: |_| plain(false),
        child,
        enter: || enter(false),
        unit: |number| unit(number, false),
        request: |number| request(number, false),
        open: || bytes_of_open(|number| root("open", number, false)),
    };

    fn root(name: &'static str, number: usize, is_sampled: bool) -> Span {
        let span = Span::root(name, SpanContext::random().sampled(is_sampled));
        span.with_properties(|| {
            [
                ("method", "GET".to_owned()),
                ("number", number.to_string()),
                ("path", "/users".into()),
            ]
        })
    }

    fn child(_: usize) {
        drop(black_box(LocalSpan::enter_with_local_parent("query")));
    }

    fn enter(is_sampled: bool) -> Box<dyn Any> {
        let root = Span::root("request", SpanContext::random().sampled(is_sampled));
        // Dropped in this order.
        Box::new((root.set_local_parent(), root))
    }

    fn plain(is_sampled: bool) {
        let root = Span::root("request", SpanContext::random().sampled(is_sampled));
        let entered = root.set_local_parent();
        drop(black_box(entered));
        drop(black_box(root));
    }

    fn unit(number: usize, is_sampled: bool) {
        let root = root("request", number, is_sampled);
        let entered = root.set_local_parent();
        LocalSpan::add_event(Event::new("read").with_property(|| ("bytes", 512.to_string())));
        let child = LocalSpan::enter_with_local_parent("query");
        drop(black_box(child));
        drop(black_box(entered));
        drop(black_box(root));
    }

    fn request(number: usize, is_sampled: bool) {
        let root = root("request", number, is_sampled);
        let entered = root.set_local_parent();
        let handler = LocalSpan::enter_with_local_parent("handler")
            .with_properties(|| [("route", "/users".to_owned()), ("user", 7.to_string())]);
        for query in 0..QUERIES {
            let span = LocalSpan::enter_with_local_parent("query")
                .with_properties(|| [("table", "users".to_owned()), ("query", query.to_string())]);
            drop(black_box(span));
            if query % BETWEEN_EVENTS == 0 {
                let event = Event::new("read").with_property(|| ("rows", 3.to_string()));
                LocalSpan::add_event(event);
            }
        }
        drop(black_box(handler));
        drop(black_box(entered));
        drop(black_box(root));
    }
}

fn bytes_of_open<S>(open: impl Fn(usize) -> S) -> f64 {
    let before = resident();
    let spans: Vec<_> = (0..OPEN)
        .map(|number| {
            if number % 1_000 == 0 {
                thread::sleep(Duration::from_millis(2));
            }
            open(number)
        })
        .collect();
    thread::sleep(Duration::from_millis(200));
    let bytes = (resident() - before) / OPEN as f64 - size_of::<S>() as f64;
    drop(spans);
    bytes
}

fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/statm").expect("Linux has the file");
    status.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).expect("pages") * 4096.0
}
