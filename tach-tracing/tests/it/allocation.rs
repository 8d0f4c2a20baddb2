//! No timer allocates, and of the layers one does, once a span.

use allocation_counter::measure;
use tach_tracing::{EventTime, SpanTiming, Uptime, Utc};
use tracing::subscriber::with_default;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, registry};

/// How often `timer` allocates while it formats a few times into a string that is large enough.
fn allocations(timer: &impl FormatTime) -> u64 {
    let mut text = String::with_capacity(1024);
    let counted = measure(|| {
        for _ in 0..10 {
            timer.format_time(&mut Writer::new(&mut text)).unwrap();
        }
    });
    assert!(text.len() >= 100);
    counted.count_total
}

#[test]
fn no_timer_allocates() {
    assert_eq!(allocations(&Uptime), 0);
    assert_eq!(allocations(&Utc::<6>), 0);
    assert_eq!(allocations(&Utc::<9>), 0);
}

/// The positive control: a timer that does allocate is found.
#[test]
fn a_timer_that_makes_a_string_is_found() {
    let timer: fn(&mut Writer<'_>) -> core::fmt::Result = |writer| {
        let mut text = String::new();
        SystemTime.format_time(&mut Writer::new(&mut text))?;
        writer.write_str(&text)
    };
    assert!(allocations(&timer) >= 10);
}

/// How often it allocates to log ten events and to have ten spans, once memory that is kept was taken.
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

/// Allocates at every event.
struct Boxing;

impl<S: Subscriber> Layer<S> for Boxing {
    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        drop(core::hint::black_box(Box::new(1)));
    }
}

#[test]
fn the_layers_allocate_no_more_than_an_extension_a_span() {
    let nothing = allocations_of(registry());
    let event_time = EventTime::new(tracing_subscriber::layer::Identity::new());
    assert_eq!(allocations_of(registry().with(event_time.with_span_events())), nothing);
    assert_eq!(allocations_of(registry().with(SpanTiming::new())), nothing + 10);
    // The positive control.
    assert_eq!(allocations_of(registry().with(EventTime::new(Boxing))), nothing + 10);
}
