//! Texts of many megabytes in every part of a span.

use core::error::Error;
use core::fmt;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use tach_pipeline::{Otlp, Pipeline, Signal, Sink, SpanExt as _};
use test_support::receiver::serve;

use super::received::{spans_in, value};
use super::{pipeline, run};
use crate::support::LONG;

/// The longest message that receivers of gRPC accept by default.
const MOST: usize = 4 * 1024 * 1024;
const LONG_TEXT: usize = 6 * 1024 * 1024;

#[derive(Debug)]
struct Failed(String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Failed {}

/// Returns the span that `f` records with a long text.
fn received(f: impl FnOnce(&str)) -> Span {
    received_of(&"é".repeat(LONG_TEXT / 2), f)
}

/// Returns the span that `f` records with a text.
fn received_of(text: &str, f: impl FnOnce(&str)) -> Span {
    let (requests, guard) = pipeline(|builder| builder);
    run(guard.pipeline(), || f(text));
    let (_, body) = requests.recv_timeout(LONG).unwrap();
    assert!(body.len() < MOST, "{}", body.len());
    let spans = spans_in(&body);
    let [span] = &spans[..] else { panic!("{} spans", spans.len()) };
    span.clone()
}

#[track_caller]
fn assert_cut(span: &Span, kept: usize) {
    let lost = value(&span.attributes, "truncated_bytes");
    assert_eq!(lost, Value::IntValue(i64::try_from(LONG_TEXT - kept).unwrap()));
    assert_eq!(value(&span.attributes, "small"), Value::IntValue(1), "the rest is there");
}

fn length(value: &Value) -> usize {
    let Value::StringValue(text) = value else { panic!("{value:?}") };
    assert!(text.chars().all(|it| it == 'é'), "no character is cut");
    text.len()
}

#[test]
fn no_part_of_a_span_is_too_long() {
    let span = received(|text| drop(tracing::info_span!("start", text, small = 1)));
    assert_cut(&span, length(&value(&span.attributes, "text")));
    let span = received(|text| {
        let span = tracing::info_span!("recorded", text = tracing::field::Empty, small = 1);
        span.record("text", text);
    });
    assert_cut(&span, length(&value(&span.attributes, "text")));
    let span = received(|text| {
        tracing::info_span!("attribute", small = 1).set_attribute("text", text);
    });
    assert_cut(&span, length(&value(&span.attributes, "text")));
    let span = received(|text| drop(tracing::info_span!("name", otel.name = text, small = 1)));
    assert_cut(&span, span.name.len());
    let span = received(|text| {
        tracing::info_span!("status", small = 1).set_status(Err(text));
    });
    let status = span.status.as_ref().unwrap();
    assert_eq!(status.code, 2);
    assert_cut(&span, status.message.len());
    let span = received(|text| {
        let error: &(dyn Error + 'static) = &Failed(text.to_owned());
        drop(tracing::info_span!("error", error, small = 1));
    });
    assert_cut(&span, length(&value(&span.attributes, "error")));
    assert!(length(&value(&span.attributes, "exception.message")) < MOST / 4);
}

/// This holds for a text that was cut when it was recorded, and for one that was short enough then.
#[test]
fn no_text_beside_the_attributes_is_long() {
    const MOST_OWN: usize = 64 * 1024;
    for length in [100_000, LONG_TEXT] {
        let text = "é".repeat(length / 2);
        let lost = |span: &Span| match value(&span.attributes, "truncated_bytes") {
            Value::IntValue(lost) => usize::try_from(lost).unwrap(),
            other => panic!("{other:?}"),
        };
        let span = received_of(&text, |text| drop(tracing::info_span!("name", otel.name = text)));
        assert_eq!((span.name.len(), lost(&span)), (MOST_OWN, length - MOST_OWN));
        let span = received_of(&text, |text| tracing::info_span!("status").set_status(Err(text)));
        let description = span.status.as_ref().unwrap().message.len();
        assert_eq!((description, lost(&span)), (MOST_OWN, length - MOST_OWN));
        // Half of a tracestate may be invalid, so all of it is left out.
        let span = received_of(&text, |text| {
            drop(tracing::info_span!("state", otel.trace_state = text));
        });
        assert_eq!((&*span.trace_state, lost(&span)), ("", length));
    }
    let short = "k=v";
    let span =
        received_of(short, |text| drop(tracing::info_span!("state", otel.trace_state = text)));
    assert_eq!(span.trace_state, short);
}

#[test]
fn no_part_of_an_event_is_too_long() {
    for is_message in [true, false] {
        let span = received(|text| {
            tracing::info_span!("span").in_scope(|| {
                if is_message {
                    tracing::info!(small = 1, "{text}");
                } else {
                    tracing::info!(text, small = 1, "field");
                }
                tracing::info!("next");
            });
        });
        let [event, next] = &span.events[..] else { panic!("{} events", span.events.len()) };
        let kept =
            if is_message { event.name.len() } else { length(&value(&event.attributes, "text")) };
        let lost = i64::try_from(LONG_TEXT - kept).unwrap();
        assert_eq!(value(&event.attributes, "truncated_bytes"), Value::IntValue(lost));
        assert_eq!(value(&event.attributes, "small"), Value::IntValue(1));
        assert_eq!((&*next.name, span.dropped_events_count), ("next", 0));
    }
}

/// Keys and texts of the program's own, which records contain by number.
#[test]
fn a_span_is_cut_however_short_its_records_are() {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG).signals([Signal::Traces]);
    let otlp = otlp.max_events(1_000_000).max_links(1_000_000);
    let guard = Pipeline::builder().sink(Sink::otlp(otlp)).build().unwrap();
    run(guard.pipeline(), || {
        tracing::info_span!("many", small = 1).in_scope(|| {
            for _ in 0..30_000 {
                tracing::info!(target: "a_target_that_is_as_long_as_the_paths_of_modules_are", "tick");
            }
        });
    });
    let (_, body) = requests.recv_timeout(LONG).unwrap();
    let span = spans_in(&body).remove(0);
    assert!(body.len() < MOST, "{}", body.len());
    assert!(span.events.len() > 5_000, "{}", span.events.len());
    let all = span.events.len() + usize::try_from(span.dropped_events_count).unwrap();
    assert_eq!(all, 30_000);
}
