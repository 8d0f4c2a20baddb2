//! Spans that a thread enters and never leaves.

use core::mem;
use std::thread;

use tracing::dispatcher;

use super::spans;

/// A guard that is forgotten must not hide the spans around it. (The registry keeps the span open,
/// and the own subscriber closes it.)
#[test]
fn a_span_that_is_never_left_hides_none_around_it() {
    let spans = spans(|| {
        let outer = tracing::info_span!("outer").entered();
        let never_left = tracing::info_span!("never left");
        mem::forget(never_left.enter());
        drop(never_left);
        tracing::info_span!("within").in_scope(|| tracing::info!("event"));
        drop(outer);
    });
    let [outer, within] = ["outer", "within"].map(|name| &spans[name]);
    assert_eq!(within.trace_id, outer.trace_id);
    assert!(!within.parent_span_id.is_empty());
    assert_eq!(within.events.len(), 1);
}

/// A span may be entered on one thread and left on another, by calls of the subscriber.
#[test]
fn a_span_that_another_thread_leaves_ends_then() {
    let spans = spans(|| {
        let dispatch = dispatcher::get_default(Clone::clone);
        let span = tracing::info_span!("span");
        let id = span.id().unwrap();
        dispatch.enter(&id);
        thread::spawn(move || dispatch.exit(&id)).join().unwrap();
        tracing::info_span!(parent: None, "later").in_scope(|| {});
        drop(span);
    });
    assert!(spans["span"].end_time_unix_nano <= spans["later"].start_time_unix_nano);
}
