//! Parents of spans in this process, and links between them.

use core::mem;
use std::collections::HashMap;
use std::sync::mpsc::sync_channel;
use std::thread;

use tracing::{Span, dispatcher};

use super::{pipeline, received, spans};
use crate::support::{LONG, subscriber};

#[test]
fn parents_are_tracing_s() {
    let spans = spans(|| {
        let root = tracing::info_span!("root");
        let other = tracing::info_span!("other");
        let _entered = other.enter();
        let explicit = tracing::info_span!(parent: &root, "explicit");
        drop(tracing::info_span!(parent: None, "none"));
        explicit.follows_from(&other);
        let moved = tracing::info_span!("moved");
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        thread::scope(|scope| {
            scope.spawn(|| {
                dispatcher::with_default(&dispatch, || {
                    let _moved = moved.enter();
                    drop(tracing::info_span!("elsewhere"));
                    tracing::info!(parent: &root, "for the root");
                });
            });
        });
    });
    let parent = |name: &str| {
        let id = &spans[name].parent_span_id;
        let parent = spans.values().find(|span| span.span_id == *id);
        assert!(parent.is_none_or(|parent| parent.trace_id == spans[name].trace_id));
        parent.map(|parent| &*parent.name)
    };
    assert_eq!(parent("root"), None);
    assert_eq!(parent("explicit"), Some("root"));
    assert_eq!(parent("none"), None);
    assert_eq!(parent("moved"), Some("other"));
    assert_eq!(parent("elsewhere"), Some("moved"));
    assert_eq!(spans["root"].events[0].name, "for the root");
    let link = &spans["explicit"].links[0];
    assert_eq!(
        (&link.trace_id, &link.span_id),
        (&spans["other"].trace_id, &spans["other"].span_id)
    );
    let traces: Vec<_> = ["root", "other", "none"].map(|name| &spans[name].trace_id).into();
    assert!(traces[0] != traces[1] && traces[1] != traces[2] && traces[0] != traces[2]);
}

/// Threads start spans and hand them to other threads, which log in them and close them. Each span
/// arrives once, with its parent.
#[test]
fn no_span_is_lost_between_threads() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 2_000;
    let (requests, guard) = pipeline(|builder| builder);
    let dispatch = subscriber(guard.pipeline());
    thread::scope(|scope| {
        let (mut first, mut next) = sync_channel::<Span>(16);
        for thread in 0..THREADS {
            let dispatch = dispatch.clone();
            let (sender, receiver) = sync_channel(16);
            let (to, from) = (mem::replace(&mut first, sender), mem::replace(&mut next, receiver));
            scope.spawn(move || {
                dispatcher::with_default(&dispatch, || {
                    for round in 0..ROUNDS {
                        let root = tracing::info_span!("root", thread, round);
                        let child = root.in_scope(|| tracing::info_span!("child"));
                        // Fails if the receiving thread has ended.
                        let _sent = to.send(child);
                        if let Ok(span) = from.try_recv() {
                            span.in_scope(|| tracing::info!("received"));
                        }
                    }
                });
            });
        }
    });
    guard.pipeline().flush(LONG).unwrap();
    let spans = received::spans(&requests);
    let roots: HashMap<_, _> =
        spans.iter().filter(|span| span.name == "root").map(|span| (&span.span_id, span)).collect();
    assert_eq!((roots.len(), spans.len()), (THREADS * ROUNDS, 2 * THREADS * ROUNDS));
    for child in spans.iter().filter(|span| span.name == "child") {
        let root = roots[&child.parent_span_id];
        assert_eq!(child.trace_id, root.trace_id);
        assert!(root.start_time_unix_nano <= child.start_time_unix_nano);
        for event in &child.events {
            let life = child.start_time_unix_nano..=child.end_time_unix_nano;
            assert!(life.contains(&event.time_unix_nano));
        }
    }
    assert!(spans.iter().any(|span| !span.events.is_empty()));
}
