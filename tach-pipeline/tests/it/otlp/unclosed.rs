//! Spans that the registry of tracing-subscriber never closes.

use std::sync::{Arc, Mutex};

use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Span, dispatcher};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

use super::{pipeline, received};
use crate::support::LONG;

/// The registry releases the parent of a span that closes through the thread's current subscriber
/// (opentelemetry-rust#957).
#[test]
fn a_parent_whose_child_closes_elsewhere_is_counted() {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&reports);
    let (requests, guard) = pipeline(|builder| {
        builder.on_incident(move |incident| seen.lock().unwrap().push(incident.to_string()))
    });
    let own = Dispatch::new(registry().with(guard.pipeline().clone()));
    let other = Dispatch::new(NoSubscriber::new());
    let within = |dispatch: &Dispatch| {
        dispatcher::with_default(dispatch, || {
            let root = tracing::info_span!("root");
            let parent = tracing::info_span!(parent: &root, "parent");
            let children = [(); 2].map(|()| tracing::info_span!(parent: &parent, "child"));
            (root, parent, children)
        })
    };
    let close = |(root, parent, children): (Span, Span, [Span; 2])| {
        drop((root, parent));
        drop(children);
    };
    let unclosed = || guard.pipeline().stats().unclosed_spans();
    let spans = within(&own);
    dispatcher::with_default(&own, || close(spans));
    // A span without children may be closed anywhere.
    drop(dispatcher::with_default(&own, || tracing::info_span!("alone")));
    guard.pipeline().flush(LONG).unwrap();
    let names = ["alone", "child", "child", "parent", "root"];
    assert_eq!((received::names(&received::spans(&requests)), unclosed()), (names.to_vec(), 0));
    close(within(&own));
    assert_eq!(unclosed(), 2, "the parent and the root, whatever the number of children");
    let spans = within(&own);
    dispatcher::with_default(&other, || close(spans));
    assert_eq!(unclosed(), 4);
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(received::names(&received::spans(&requests)), ["child"; 4]);
    let reports = reports.lock().unwrap();
    let [report] = &reports[..] else { panic!("{reports:?}") };
    assert!(report.contains("\"parent\" never ends"), "{report}");
}
