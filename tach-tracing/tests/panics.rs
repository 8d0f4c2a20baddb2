//! A panic in the midst of a span stays one that can be caught. Where it doesn't the process ends, so each
//! test is one of its own.

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use tach_tracing::{CloseTimes, SpanTiming};
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

/// Records the field while the span is entered: the `fmt` layer holds its extensions then. After the panic
/// the span is exited and closed, and one of its own is used once more.
fn assert_caught(subscriber: impl Subscriber + Send + Sync) {
    with_default(subscriber, || {
        // Made before, as tracing-subscriber gives a poisoned lock to the next span.
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
#[ignore = "may end the process, and is run by another"]
fn timed() {
    assert_caught(registry().with(lines(&Captured::default())).with(SpanTiming::new()));
}

#[test]
fn a_panic_of_a_span_whose_times_are_told_is_caught() {
    assert_test_passes("told", &[]);
}

#[test]
#[ignore = "may end the process, and is run by another"]
fn told() {
    let captured = Captured::default();
    assert_caught(registry().with(CloseTimes::new(lines(&captured))));
    assert_eq!(captured.text(), "");
}
