//! The status of a span.

use super::received::{text, value};
use super::spans;

#[test]
fn the_status_is_the_last_that_was_set() {
    let spans = spans(|| {
        tracing::info_span!("ok", otel.status_code = "OK").in_scope(|| tracing::error!("tried"));
        tracing::info_span!("set", otel.status_code = "error");
        tracing::info_span!("described", otel.status_description = "no room");
        tracing::info_span!("by event").in_scope(|| tracing::error!("failed"));
        tracing::info_span!("returned").in_scope(|| tracing::error!(error = %"disk full"));
        tracing::info_span!("none").in_scope(|| tracing::warn!("odd"));
        tracing::info_span!("tried").in_scope(|| tracing::warn!(error = %"disk full", "again"));
    });
    let status = |name: &str| {
        let status = spans[name].status.clone();
        status.map(|status| (status.code, status.message))
    };
    let error = |message: &str| Some((2, message.to_owned()));
    assert_eq!(status("ok"), Some((1, String::new())));
    assert_eq!((status("set"), status("described")), (error(""), error("no room")));
    assert_eq!((status("by event"), status("returned")), (error(""), error("disk full")));
    assert_eq!((status("none"), status("tried")), (None, None));
    let event = &spans["returned"].events[0];
    assert_eq!(event.name, "exception");
    assert_eq!(value(&event.attributes, "exception.message"), text("disk full"));
}

/// As in other languages. A span around the place that catches the panic has not failed.
#[test]
fn a_panic_sets_the_status_of_the_spans_that_it_leaves() {
    let panics = |name: &str, f: fn()| {
        let caught = std::panic::catch_unwind(|| {
            let _outer = tracing::info_span!("span", otel.name = name).entered();
            f();
            panic!("on purpose");
        });
        assert!(caught.is_err());
    };
    let spans = spans(|| {
        let _catches = tracing::info_span!("catches").entered();
        panics("outer", || drop(tracing::info_span!("before").entered()));
        panics("inner", || {
            let _inner = tracing::info_span!("innermost").entered();
            panic!("on purpose");
        });
        panics("succeeded", || {
            tach_pipeline::SpanExt::set_status(&tracing::Span::current(), Ok(()));
        });
        tracing::info_span!("after").in_scope(|| ());
    });
    let code = |name: &str| spans[name].status.as_ref().map_or(0, |status| status.code);
    for (name, expected) in [
        ("outer", 2),
        ("before", 0),
        ("inner", 2),
        ("innermost", 2),
        ("succeeded", 1),
        ("catches", 0),
        ("after", 0),
    ] {
        assert_eq!(code(name), expected, "{name}");
    }
    assert_eq!(spans["outer"].status.as_ref().unwrap().message, "panicked");
}

/// There is no room for the event in the span.
#[test]
fn an_error_without_room_sets_the_status() {
    let spans = spans(|| {
        let body = "x".repeat(250 * 1024);
        tracing::info_span!("request").in_scope(|| {
            tracing::info!(body, "first");
            tracing::error!(body, "failed");
        });
    });
    let span = &spans["request"];
    assert_eq!((span.events.len(), span.dropped_events_count), (1, 1));
    assert_eq!(span.status.as_ref().unwrap().code, 2);
}
