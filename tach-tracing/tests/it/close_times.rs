//! `CloseTimes` prints the same lines as `FmtSpan::CLOSE`.

use core::time::Duration;
use std::sync::Arc;

use tach_core::{ManualClock, UnixTime};
use tach_tracing::{CloseTimes, EventTimeLayer, SpanTiming, Utc};
use test_support::Captured;
use tracing::subscriber::with_default;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::{Identity, SubscriberExt as _};
use tracing_subscriber::{Layer, Registry, fmt, registry, reload};

type Boxed = Box<dyn Layer<Registry> + Send + Sync>;

struct Noon;

impl FormatTime for Noon {
    fn format_time(&self, writer: &mut fmt::format::Writer<'_>) -> core::fmt::Result {
        writer.write_str("noon")
    }
}

/// Opens and closes a span of each level, some with fields, some nested.
fn spans() {
    let outer = tracing::error_span!("outer", request = 7, path = "/");
    let _outer = outer.enter();
    tracing::info_span!(target: "elsewhere", "inner", later = tracing::field::Empty).in_scope(
        || {
            tracing::Span::current().record("later", "now");
            tracing::info!("an event");
            tracing::trace_span!("innermost").in_scope(|| ());
        },
    );
    drop(tracing::debug_span!("never entered"));
}

fn printed(captured: &Captured, layers: Vec<Boxed>) -> String {
    with_default(registry().with(layers), spans);
    without_durations(&captured.text())
}

/// Replaces the durations, such as `12.3µs`, which may have quotes or colours around them.
fn without_durations(text: &str) -> String {
    let mut parts = text.split("time.");
    let mut result = parts.next().unwrap().to_owned();
    for part in parts {
        let (before, after) = around_duration(part).unwrap_or_else(|| panic!("{part:?}"));
        result.extend(["time.", before, "DURATION", after]);
    }
    result
}

/// Returns the text before and after the first number with a unit.
fn around_duration(text: &str) -> Option<(&str, &str)> {
    let mut starts = text.match_indices(|c: char| c.is_ascii_digit());
    starts.find_map(|(start, _)| {
        let after = text[start..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let rest = ["ns", "µs", "ms", "s"].iter().find_map(|unit| after.strip_prefix(unit))?;
        Some((&text[..start], rest))
    })
}

/// Asserts that a format prints the same lines with `FmtSpan::CLOSE` and with `CloseTimes`.
macro_rules! assert_same_lines {
    ($layer:ident => $format:expr) => {{
        let captured = Captured::default();
        let $layer = fmt::layer().with_writer(captured.clone()).with_timer(Noon);
        let theirs = printed(&captured, vec![$format.with_span_events(FmtSpan::CLOSE).boxed()]);

        let captured = Captured::default();
        let $layer = fmt::layer().with_writer(captured.clone()).with_timer(Noon);
        let ours = vec![SpanTiming::new().boxed(), CloseTimes::new($format).boxed()];
        assert_eq!(printed(&captured, ours), theirs);
        assert_eq!(theirs.matches("DURATION").count(), 8, "{theirs}");
    }};
}

#[test]
fn lines_are_those_of_fmt_span_in_every_format() {
    assert_same_lines!(layer => layer.with_ansi(false));
    assert_same_lines!(layer => layer.with_ansi(true));
    assert_same_lines!(layer => layer.with_ansi(false).compact());
    assert_same_lines!(layer => layer.with_ansi(false).pretty());
    assert_same_lines!(layer => layer.with_ansi(true).pretty());
    assert_same_lines!(layer => layer.json());
    assert_same_lines!(layer => layer.json().flatten_event(true).with_current_span(false));
    assert_same_lines!(layer => layer.with_ansi(false).with_file(true).with_thread_ids(true));
}

/// After the other span events of the inner layer, the line comes last, like theirs.
#[test]
fn other_span_events_are_printed_as_before() {
    let layer = |captured: &Captured| fmt::layer().with_ansi(false).with_writer(captured.clone());
    let captured = Captured::default();
    let theirs = layer(&captured).with_timer(Noon).with_span_events(FmtSpan::FULL);
    let theirs = printed(&captured, vec![theirs.boxed()]);
    let captured = Captured::default();
    let ours = layer(&captured).with_timer(Noon).with_span_events(FmtSpan::NEW | FmtSpan::ACTIVE);
    let ours = vec![SpanTiming::new().boxed(), CloseTimes::new(ours).boxed()];
    assert_eq!(printed(&captured, ours), theirs);
}

/// The layer is added while the span is open.
#[test]
fn a_span_that_is_older_than_the_layer_has_only_the_message() {
    let captured = Captured::default();
    let lines = || {
        let layer = fmt::layer().with_ansi(false).without_time().with_target(false);
        Some(CloseTimes::new(layer.with_writer(captured.clone())))
    };
    let (layer, handle) = reload::Layer::new(lines().filter(|_| false));
    with_default(registry().with(layer).with(Identity::new()), || {
        let span = tracing::info_span!("old");
        handle.reload(lines()).unwrap();
        span.in_scope(|| ());
    });
    assert_eq!(captured.text(), " INFO old: close\n");
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(UnixTime::EPOCH + Duration::from_secs(1_767_225_600)))
}

#[test]
fn span_timing_measures_the_printed_durations() {
    let (clock, captured) = (clock(), Captured::default());
    let layer = fmt::layer().with_ansi(false).with_target(false).with_writer(captured.clone());
    let subscriber = registry()
        .with(SpanTiming::new().with_clock(clock.clone()))
        .with(CloseTimes::new(layer.with_timer(Utc.digits(3).with_clock(clock.clone()))));
    with_default(subscriber, || {
        let span = tracing::info_span!("work", id = 7);
        span.in_scope(|| clock.advance(Duration::from_nanos(12_345)));
        clock.advance(Duration::from_millis(678));
    });
    assert_eq!(
        captured.text(),
        "2026-01-01T00:00:00.678Z  INFO work{id=7}: close time.busy=12.3µs time.idle=678ms\n"
    );
}

#[test]
fn json_has_the_times_as_fields() {
    let (clock, captured) = (clock(), Captured::default());
    let layer = fmt::layer().json().with_writer(captured.clone());
    let subscriber = registry()
        .with(SpanTiming::new().with_clock(clock.clone()))
        .with(CloseTimes::new(layer.with_timer(Utc.digits(3).with_clock(clock.clone()))));
    with_default(subscriber, || {
        tracing::info_span!("work").in_scope(|| clock.advance(Duration::from_secs(90)));
    });
    let event: serde_json::Value = serde_json::from_str(&captured.text()).unwrap();
    assert_eq!(event["timestamp"], "2026-01-01T00:01:30.000Z");
    assert_eq!(event["fields"]["message"], "close");
    assert_eq!(event["fields"]["time.busy"], "90.0s");
    assert_eq!(event["fields"]["time.idle"], "0.00ns");
    assert_eq!(event["span"]["name"], "work");
}

#[test]
fn with_event_time_all_lines_of_a_closed_span_have_one_time() {
    type Stack = fn(Boxed, Boxed) -> Boxed;
    let stacks: [Stack; 2] = [
        |one, other| CloseTimes::new(EventTimeLayer::new(one.and_then(other))).boxed(),
        |one, other| {
            let layers = CloseTimes::new(one).and_then(CloseTimes::new(other));
            EventTimeLayer::new(layers).with_span_events().boxed()
        },
    ];
    for stack in stacks {
        let captured = <[Captured; 2]>::default();
        let [one, other] = captured.each_ref().map(|captured| {
            let layer = fmt::layer().with_ansi(false).with_writer(captured.clone());
            layer.with_timer(Utc.digits(9)).boxed()
        });
        let layers = vec![SpanTiming::new().boxed(), stack(one, other)];
        with_default(registry().with(layers), spans);
        let [one, other] = captured.map(|captured| captured.text());
        assert_eq!(one, other);
        assert_eq!(one.matches(": close").count(), 4, "{one}");
    }
}

/// The stack of the crate's documentation: the filter of one layer hides no spans from the other.
#[test]
fn each_layer_has_a_filter_of_its_own_within_event_time() {
    let captured = <[Captured; 2]>::default();
    let [one, other] = captured.each_ref().map(|captured| {
        let layer = fmt::layer().with_ansi(false).with_writer(captured.clone());
        CloseTimes::new(layer.with_timer(Utc.digits(9)))
    });
    let layers = one.with_filter(LevelFilter::INFO).and_then(other);
    let layers = EventTimeLayer::new(layers).with_span_events();
    with_default(registry().with(SpanTiming::new()).with(layers), spans);
    let [one, other] = captured.map(|captured| captured.text());
    // Every other line has a hidden span, or a hidden level.
    let hidden = |line: &&str| [" TRACE ", " DEBUG "].iter().any(|level| line.contains(level));
    let shown: Vec<_> = other.lines().filter(|line| !hidden(line)).collect();
    assert_eq!(one.lines().collect::<Vec<_>>(), shown);
    assert_eq!([&one, &other].map(|text| text.matches(": close").count()), [2, 4]);
    assert!(one.contains("inner{later=") && one.contains("outer{request=7"), "{one}");
}

/// A filter inside hides spans from its layer, and their lines as well.
#[test]
fn a_filter_inside_prints_no_line_of_a_hidden_span() {
    let captured = <[Captured; 2]>::default();
    let [one, other] = captured.each_ref().map(|captured| {
        fmt::layer().with_ansi(false).with_writer(captured.clone()).with_timer(Noon)
    });
    let layers = one.with_filter(LevelFilter::INFO).and_then(other);
    with_default(registry().with(SpanTiming::new()).with(CloseTimes::new(layers)), spans);
    let [one, other] = captured.map(|captured| captured.text());
    assert_eq!([&one, &other].map(|text| text.matches(": close").count()), [2, 4], "{one}");
    for (line, name) in one.lines().filter(|line| line.contains("close")).zip(["inner", "outer"]) {
        assert!(line.contains(name), "{line}");
    }
}

#[test]
fn filters_go_around_it() {
    let captured = Captured::default();
    let layer = fmt::layer().with_ansi(false).with_writer(captured.clone());
    let lines = CloseTimes::new(layer).with_filter(LevelFilter::INFO);
    with_default(registry().with(SpanTiming::new()).with(lines), spans);
    let text = captured.text();
    assert_eq!(text.matches(": close").count(), 2, "{text}");
}

/// Short lines in `captured`, as a layer of any subscriber.
macro_rules! short_lines {
    ($captured:ident) => {
        CloseTimes::new(
            fmt::layer()
                .with_ansi(false)
                .without_time()
                .with_target(false)
                .with_writer($captured.clone()),
        )
    };
}

/// Without a `SpanTiming`, beside two layers of which each would measure.
#[test]
fn spans_are_measured_without_span_timing() {
    let captured = Captured::default();
    with_default(registry().with(short_lines!(captured)).with(short_lines!(captured)), || {
        let span = tracing::info_span!("work");
        std::thread::sleep(Duration::from_millis(5));
        span.in_scope(|| std::thread::sleep(Duration::from_millis(20)));
    });
    let text = captured.text();
    let times: Vec<_> = text.lines().map(|line| line.split_once("time.busy=").unwrap().1).collect();
    assert_eq!((times.len(), times[0]), (2, times[1]), "{text}");
    let (busy, idle) = times[0].split_once(" time.idle=").unwrap();
    let is_short = |text: &str| text.ends_with("ns") || text.ends_with("µs");
    assert!(!is_short(busy) && !is_short(idle), "{text}");
}

/// The layer's clock counts, wherever it stands.
#[test]
fn the_clock_of_span_timing_counts_in_any_order() {
    let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    let captured = Captured::default();
    let timing = || SpanTiming::new().with_clock(clock.clone());
    let work = || {
        let span = tracing::info_span!("work");
        clock.advance(Duration::from_secs(2));
        span.in_scope(|| clock.advance(Duration::from_secs(3)));
    };
    with_default(registry().with(timing()).with(short_lines!(captured)), work);
    with_default(registry().with(short_lines!(captured)).with(timing()), work);
    let line = " INFO work: close time.busy=3.00s time.idle=2.00s\n";
    assert_eq!(captured.text(), line.repeat(2));
}
