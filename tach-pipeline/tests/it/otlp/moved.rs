//! Spans of the pipeline's own subscriber that move to another trace.

use std::sync::Barrier;
use std::thread;

use tach_pipeline::{SpanExt as _, TraceContext};
use tracing::{Dispatch, dispatcher, info_span};

use super::pipeline;

/// A layer has a copy of the ids in each thread.
#[test]
fn a_span_that_moves_takes_along_what_other_threads_start_in_it() {
    let (_requests, guard) = pipeline(|builder| builder);
    let dispatch = Dispatch::new(guard.pipeline().subscriber());
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let remote = TraceContext::from_headers(header, "").unwrap();
    let span = dispatcher::with_default(&dispatch, || info_span!("request"));
    let barrier = Barrier::new(2);
    let trace_of_child = thread::scope(|scope| {
        let child = scope.spawn(|| {
            dispatcher::with_default(&dispatch, || {
                span.in_scope(|| {
                    barrier.wait();
                    barrier.wait();
                    info_span!("child").trace_context().unwrap().trace_id()
                })
            })
        });
        barrier.wait();
        assert_ne!(span.trace_context().unwrap().trace_id(), remote.trace_id());
        assert!(span.set_remote_parent(&remote));
        barrier.wait();
        child.join().unwrap()
    });
    assert_eq!(trace_of_child, remote.trace_id());
}
