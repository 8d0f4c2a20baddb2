//! A panic inside a span can be caught. If it can't, the process aborts, so each test is a process
//! of its own.

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use tach_tracing::SpanTiming;
use test_support::{Captured, assert_test_passes};
use tracing::Subscriber;
use tracing::field::{Empty, display};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry;

struct Fragile;

impl fmt::Display for Fragile {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("on purpose")
    }
}

/// Panics while the `fmt` layer holds the extensions: of a span that then exits and closes, and of
/// one that is used again.
fn assert_caught(subscriber: impl Subscriber + Send + Sync) {
    with_default(subscriber, || {
        // Created first, because tracing-subscriber reuses a poisoned lock for the next span.
        let kept = tracing::info_span!("kept", field = Empty);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let span = tracing::info_span!("span", field = Empty);
            let _entered = span.enter();
            span.record("field", display(Fragile));
        }));
        let message = caught.unwrap_err();
        assert_eq!(message.downcast_ref::<&str>(), Some(&"on purpose"));

        let caught = catch_unwind(AssertUnwindSafe(|| kept.record("field", display(Fragile)).id()));
        assert!(caught.is_err());
        kept.in_scope(|| ());
    });
}

fn lines<S>(captured: &Captured) -> impl Layer<S>
where
    S: Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    tracing_subscriber::fmt::layer().with_ansi(false).with_writer(captured.clone())
}

#[test]
fn a_panic_of_a_timed_span_is_caught() {
    assert_test_passes("timed", &[]);
}

#[test]
#[ignore = "may abort the process, and is run by another test"]
fn timed() {
    assert_caught(registry().with(lines(&Captured::default())).with(SpanTiming::new()));
}
