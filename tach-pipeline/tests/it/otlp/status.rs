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
