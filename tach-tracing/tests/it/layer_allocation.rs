//! Only `SpanTiming` allocates, once a span.

use allocation_counter::measure;
use tach_tracing::{EventTime, SpanTiming};
use tracing::subscriber::with_default;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Identity, SubscriberExt as _};
use tracing_subscriber::{Layer, registry};

/// Counts the allocations for ten events and ten spans, after a first round.
fn allocations_of(subscriber: impl Subscriber + Send + Sync) -> u64 {
    let run = || {
        for n in 0..10 {
            tracing::info!(n);
            tracing::info_span!("span", n).in_scope(|| ());
        }
    };
    with_default(subscriber, || {
        run();
        measure(run).count_total
    })
}

struct Boxing;

impl<S: Subscriber> Layer<S> for Boxing {
    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        drop(core::hint::black_box(Box::new(1)));
    }
}

#[test]
fn the_layers_allocate_only_an_extension_a_span() {
    let nothing = allocations_of(registry());
    let event_time = EventTime::new(Identity::new());
    assert_eq!(allocations_of(registry().with(event_time.with_span_events())), nothing);
    assert_eq!(allocations_of(registry().with(SpanTiming::new())), nothing + 10);
    // The positive control.
    assert_eq!(allocations_of(registry().with(EventTime::new(Boxing))), nothing + 10);
}
