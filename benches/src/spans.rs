//! The cost of measured spans, and of one time an event.

use std::io;

use tach_tracing::{EventTime, SpanTiming, Utc};
use tracing::subscriber::with_default;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{DefaultFields, FmtSpan, Format, Full, Writer};
use tracing_subscriber::fmt::{self, FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Identity, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, Registry};

use crate::{Group, Subject};

pub(crate) fn groups() -> Vec<Group> {
    vec![timed_spans(), events()]
}

/// A subject that creates, enters, exits and closes spans in a stack of layers.
macro_rules! spans {
    ($name:literal, $layers:expr) => {
        Subject { name: $name, run: |iterations| have_spans($layers, iterations) }
    };
}

/// A subject that logs events in a stack of layers.
macro_rules! events {
    ($name:literal, $layers:expr) => {
        Subject { name: $name, run: |iterations| log_events($layers, iterations) }
    };
}

/// The layers of tracing-subscriber handle closed spans and print nothing. The first subject does
/// not measure them, the others do.
fn timed_spans() -> Group {
    let subjects = vec![
        spans!("FmtSpan::CLOSE without times", closing().without_time().event_format(Nothing)),
        spans!("FmtSpan::CLOSE", closing().event_format(Nothing)),
        spans!(
            "tach SpanTiming, the first",
            SpanTiming::new().and_then(closing().without_time().event_format(Nothing))
        ),
        spans!("tach SpanTiming alone", SpanTiming::new()),
        spans!("no layer", Identity::new()),
    ];
    Group { name: "span, timed and not printed", subjects }
}

fn events() -> Group {
    let subjects = vec![
        events!("no line", Identity::new()),
        events!("no line, tach EventTime", EventTime::new(Identity::new())),
        events!("two lines", lines().with_timer(Utc).and_then(lines().with_timer(Utc))),
        events!(
            "two lines, tach EventTime",
            EventTime::new(lines().with_timer(Utc).and_then(lines().with_timer(Utc)))
        ),
    ];
    Group { name: "info!() of one time", subjects }
}

fn lines() -> fmt::Layer<Registry, DefaultFields, Format<Full>, fn() -> io::Sink> {
    fmt::layer().with_ansi(false).with_writer(io::sink)
}

/// Returns the same layer, which prints closed spans as well.
fn closing() -> fmt::Layer<Registry, DefaultFields, Format<Full>, fn() -> io::Sink> {
    lines().with_span_events(FmtSpan::CLOSE)
}

/// A format that prints nothing, to measure only the way to the event.
struct Nothing;

impl<S, N> FormatEvent<S, N> for Nothing
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        _: Writer<'_>,
        _: &Event<'_>,
    ) -> core::fmt::Result {
        Ok(())
    }
}

fn have_spans(layers: impl Layer<Registry> + Send + Sync, iterations: u64) {
    with_default(Registry::default().with(layers), || {
        for _ in 0..iterations {
            tracing::info_span!("span").in_scope(|| ());
        }
    });
}

fn log_events(layers: impl Layer<Registry> + Send + Sync, iterations: u64) {
    with_default(Registry::default().with(layers), || {
        for number in 0..iterations {
            tracing::info!(number, "an event");
        }
    });
}
