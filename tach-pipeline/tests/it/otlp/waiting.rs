//! The decision whether a span is sampled waits for the parent that is set after the start.

use core::time::Duration;
use std::thread;

use tach_pipeline::{Builder, Durations, Sampling, SpanExt as _, TraceContext};
use test_support::otlp::{self, Span as Received};
use tracing::{Span, dispatcher};

use super::propagation::{PARENT, TRACE, TRACEPARENT, parent, unsampled};
use super::{pipeline, run};
use crate::support::LONG;

/// Returns the spans that a collector received from a pipeline that `with` completes, without the
/// attributes of the place and the thread.
fn spans_of(with: impl FnOnce(Builder) -> Builder, f: impl FnOnce()) -> Vec<Received> {
    let (requests, guard) = pipeline(with);
    run(guard.pipeline(), f);
    assert_eq!(guard.pipeline().stats().sinks()[0].dropped(), 0);
    let spans = requests.try_iter().flat_map(|(_, body)| otlp::spans(&body)).map(|mut span| {
        span.attributes.retain(|key, _| !key.starts_with("code.") && !key.starts_with("thread."));
        span
    });
    spans.collect()
}

fn ratio(ratio: f64) -> impl FnOnce(Builder) -> Builder {
    move |builder| builder.sampling(Sampling::ratio(ratio))
}

/// How a service sets the parent of a request's span.
type Road = (&'static str, fn(&TraceContext, &dyn Fn() -> Span) -> Span);

fn roads() -> Vec<Road> {
    let roads: Vec<Road> = vec![
        ("set_remote_parent", |parent, start| {
            let span = start();
            assert!(span.set_remote_parent(parent));
            span
        }),
        ("a header in scope", |parent, start| parent.in_scope(start)),
        ("set in another thread", |parent, start| {
            let span = start();
            thread::scope(|scope| {
                assert!(scope.spawn(|| span.set_remote_parent(parent)).join().unwrap());
            });
            span
        }),
        ("set in the handler", |parent, start| {
            let span = start();
            assert!(span.in_scope(|| Span::current().set_remote_parent(parent)));
            span
        }),
    ];
    #[cfg(feature = "opentelemetry")]
    let roads = {
        let by_opentelemetry: [Road; 3] = [
            ("OpenTelemetrySpanExt::set_parent", |parent, start| {
                let span = start();
                tach_pipeline::OpenTelemetrySpanExt::set_parent(&span, extracted(parent)).unwrap();
                span
            }),
            ("a context that is attached", |parent, start| {
                let _attached = extracted(parent).attach();
                start()
            }),
            ("a context that is attached around the span", |parent, start| {
                let span = start();
                let _attached = extracted(parent).attach();
                span.in_scope(|| span.clone())
            }),
        ];
        [roads, by_opentelemetry.to_vec()].concat()
    };
    roads
}

#[cfg(feature = "opentelemetry")]
fn extracted(parent: &TraceContext) -> opentelemetry::Context {
    use opentelemetry::propagation::TextMapPropagator as _;
    use opentelemetry_sdk::propagation::TraceContextPropagator;

    let headers = std::collections::HashMap::from([
        ("traceparent".to_owned(), parent.to_string()),
        ("tracestate".to_owned(), parent.tracestate().to_owned()),
    ]);
    TraceContextPropagator::new().extract(&headers)
}

/// Of 10,000 requests, the callers have sampled 100. The ratio of the service itself chooses
/// others.
#[test]
fn all_spans_that_callers_have_sampled_are_whole() {
    const REQUESTS: u64 = 10_000;
    for (name, set) in roads() {
        let linked = parent();
        let spans = spans_of(ratio(0.01), || {
            for number in 1..=REQUESTS {
                let flags = if number % 100 == 0 { "01" } else { "00" };
                let header = format!("00-{number:032x}-{:016x}-{flags}", number + 1);
                let start = || {
                    let span = tracing::info_span!(
                        "request",
                        otel.kind = "server",
                        otel.name = format!("GET /{number}"),
                        method = "GET",
                        number,
                        path = "/users",
                        early = tracing::field::Empty,
                    );
                    span.record("early", true);
                    span.add_link(&linked);
                    span
                };
                let caller = TraceContext::from_headers(&header, "vendor=1").unwrap();
                let span = set(&caller, &start);
                assert_eq!(span.trace_context().unwrap().is_sampled(), flags == "01", "{name}");
                span.in_scope(|| drop(tracing::info_span!("child")));
                span.set_attribute("late", 1);
            }
        });
        let (roots, children): (Vec<_>, Vec<_>) = spans.iter().partition(|it| it.name != "child");
        assert_eq!((roots.len(), children.len()), (100, 100), "{name}");
        for root in roots {
            let number = u64::try_from(root.trace).unwrap();
            let attributes: Vec<_> =
                root.attributes.iter().map(|(key, value)| (&**key, &**value)).collect();
            let text = number.to_string();
            let expected = [
                ("early", "1"),
                ("late", "1"),
                ("method", "GET"),
                ("number", &text),
                ("path", "/users"),
            ];
            assert_eq!(attributes, expected, "{name}");
            assert_eq!(root.name, format!("GET /{number}"), "{name}");
            assert_eq!((root.kind, root.parent), (2, number + 1), "{name}");
            assert_eq!((&*root.state, &root.links[..]), ("vendor=1", &[(TRACE, PARENT)][..]));
            let child = children.iter().find(|child| child.trace == root.trace).unwrap();
            assert_eq!((child.parent, &*child.state), (root.id, "vendor=1"), "{name}");
        }
    }
}

/// Values are added before the parent is set: to roots with fields and without, and to spans at the
/// boundary within one that is not sampled.
#[test]
fn all_that_was_added_before_the_parent_was_set_is_kept() {
    let other = TRACEPARENT.replace("9c-b7", "9d-b8");
    let other = TraceContext::from_headers(&other, "").unwrap();
    for durations in [false, true] {
        let with = |builder: Builder| {
            let builder = builder.sampling(Sampling::ratio(0.0));
            let chosen = Durations::new().attribute("route").attribute("early");
            if durations { builder.durations(chosen) } else { builder }
        };
        let spans = spans_of(with, || {
            let start: [fn() -> Span; 3] = [
                || tracing::info_span!("bare"),
                || tracing::info_span!("fields", route = "/a", early = tracing::field::Empty),
                || {
                    let _worker = tracing::info_span!("worker").entered();
                    tracing::info_span!("message", otel.kind = "consumer", route = "/a")
                },
            ];
            for start in start {
                let span = start();
                thread::sleep(Duration::from_millis(5));
                span.record("early", 3);
                span.set_attribute("early", 4);
                span.set_attribute("otel.status_code", "error");
                span.add_link(&other);
                span.follows_from(&tracing::info_span!("followed"));
                #[cfg(feature = "opentelemetry")]
                tach_pipeline::OpenTelemetrySpanExt::add_event(&span, "added", Vec::new());
                assert!(span.set_remote_parent(&parent()));
                assert!(!span.set_remote_parent(&other), "it is set once");
                span.set_attribute("late", 5);
            }
        });
        let mut names: Vec<_> = spans.iter().map(|span| &*span.name).collect();
        names.sort_unstable();
        assert_eq!(names, ["bare", "fields", "message"]);
        for span in &spans {
            assert_eq!((span.trace, span.parent, span.status), (TRACE, PARENT, 2), "{span:?}");
            assert_eq!((span.links.len(), span.links[0].1), (2, other.span_id()), "{span:?}");
            #[cfg(feature = "opentelemetry")]
            assert_eq!(span.events, ["added"]);
            let route = (span.name != "bare").then_some("/a");
            let value = |key| span.attributes.get(key).map(String::as_str);
            // Attributes that nobody declared.
            let expected = [route, Some("4"), Some("5")];
            assert_eq!([value("route"), value("early"), value("late")], expected, "{span:?}");
            assert_eq!(span.kind, if span.name == "message" { 5 } else { 1 });
            let took = Duration::from_nanos(span.end - span.start);
            assert!(took >= Duration::from_millis(5), "{}: {took:?}", span.name);
        }
    }
}

/// Once a thread has left the span, the decision is taken, and its inputs are gone.
#[test]
fn a_span_that_was_left_unsampled_stays_so() {
    let spans = spans_of(ratio(0.0), || {
        let span = tracing::info_span!("left", a = 1);
        span.in_scope(|| {});
        let before = span.trace_context();
        assert!(!span.set_remote_parent(&parent()) && !span.set_remote_parent(&parent()));
        assert_eq!(span.trace_context(), before);
        #[cfg(feature = "opentelemetry")]
        {
            let span = tracing::info_span!("left", a = 1, otel.kind = "server");
            span.in_scope(|| {});
            let refused =
                tach_pipeline::OpenTelemetrySpanExt::set_parent(&span, extracted(&parent()));
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains("not sampled"), "{refused}");
        }
        // A parent that is not sampled either is accepted, and changes only the trace.
        let span = tracing::info_span!("left", a = 1);
        span.in_scope(|| {});
        assert!(span.set_remote_parent(&unsampled()));
        assert_eq!(span.trace_context().map(|it| it.trace_id()), Some(TRACE));
    });
    assert!(spans.is_empty(), "{spans:?}");
}

/// A thread adds values while another one sets the parent: each value is in the span.
#[test]
fn no_value_is_lost_between_two_threads() {
    const ROUNDS: u64 = 300;
    const EACH: u64 = 8;
    let spans = spans_of(ratio(0.0), || {
        let dispatch = dispatcher::get_default(Clone::clone);
        for number in 0..ROUNDS {
            let span = tracing::info_span!("request", number);
            thread::scope(|scope| {
                scope.spawn(|| {
                    dispatcher::with_default(&dispatch, || {
                        for value in 0..EACH {
                            span.set_attribute(&format!("v{value}"), value);
                        }
                    });
                });
                assert!(span.set_remote_parent(&parent()));
            });
        }
    });
    assert_eq!(spans.len() as u64, ROUNDS);
    for span in spans {
        assert_eq!(span.attributes.len() as u64, 1 + EACH, "{span:?}");
    }
}

/// The records that are kept have a bound, and what is beyond is counted.
#[test]
fn a_span_that_waits_keeps_a_bounded_number_of_records() {
    let (requests, guard) = pipeline(ratio(0.0));
    run(guard.pipeline(), || {
        let span = tracing::info_span!("request", method = "GET");
        let long = "x".repeat(1_000);
        (0..100).for_each(|number| span.set_attribute(&format!("key {number}"), &*long));
        assert!(span.set_remote_parent(&parent()));
    });
    guard.pipeline().flush(LONG).unwrap();
    let spans = super::received::spans(&requests);
    let (kept, dropped) = (spans[0].attributes.len(), spans[0].dropped_attributes_count);
    assert!((50..100).contains(&kept), "{kept}");
    // With the place and the thread, which are always there.
    assert_eq!(kept + dropped as usize, 101 + 5);
}

/// Fields are read once, whether the span is sampled in the end or not.
#[test]
fn memory_of_spans_that_waited_is_used_again() {
    let spans = spans_of(ratio(0.0), || {
        for number in 0..1_000_u64 {
            let span = tracing::info_span!("request", number, text = "x".repeat(200));
            if number % 10 == 0 {
                assert!(span.set_remote_parent(&parent()));
            }
            if number % 3 == 0 {
                span.in_scope(|| {});
            } else if number % 7 == 0 {
                drop(span.entered());
            }
        }
    });
    let mut numbers: Vec<_> =
        spans.iter().map(|span| span.attributes["number"].parse::<u64>().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..1_000).step_by(10).collect::<Vec<_>>());
}
