//! The spans and events that benchmarks measure. `otel-tests` has this file too.

use core::hint::black_box;

/// The queries of a request.
pub(crate) const QUERIES: usize = 10;
/// After each so many, the request logs an event.
pub(crate) const BETWEEN_EVENTS: usize = 4;

/// A root span with three attributes, an event with one, and a child span.
#[inline(never)]
pub(crate) fn unit(number: usize) {
    let root = tracing::info_span!("request", method = "GET", number, path = "/users").entered();
    tracing::info!(bytes = 512, "read");
    let child = tracing::info_span!("query").entered();
    drop(black_box(child));
    drop(black_box(root));
}

/// Twelve spans and three events.
#[inline(never)]
pub(crate) fn request(number: usize) {
    let root = tracing::info_span!("request", method = "GET", number, path = "/users").entered();
    let handler = tracing::info_span!("handler", route = "/users", user = 7).entered();
    for query in 0..QUERIES {
        let span = tracing::info_span!("query", table = "users", query).entered();
        drop(black_box(span));
        if query % BETWEEN_EVENTS == 0 {
            tracing::info!(rows = 3, "read");
        }
    }
    drop(black_box(handler));
    drop(black_box(root));
}

/// A root span without attributes.
#[inline(never)]
pub(crate) fn root(_: usize) {
    drop(black_box(tracing::info_span!(parent: None, "request").entered()));
}

/// Such a span in the span that the thread is in.
#[inline(never)]
pub(crate) fn child(_: usize) {
    drop(black_box(tracing::info_span!("query").entered()));
}
