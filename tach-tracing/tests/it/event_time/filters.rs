//! A stack prints the same events with and without the layer.

use tach_tracing::EventTime;
use tracing::subscriber::with_default;
use tracing::{Span, Subscriber as _};
use tracing_subscriber::filter::{
    EnvFilter, FilterExt as _, LevelFilter, dynamic_filter_fn, filter_fn,
};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

use super::{Boxed, Pair};

fn log_every_level<const FIRST: u64>() {
    tracing::trace!(n = FIRST);
    tracing::debug!(n = FIRST + 1);
    tracing::info!(n = FIRST + 2);
    tracing::warn!(n = FIRST + 3);
    tracing::error!(n = FIRST + 4);
}

/// Logs an event of each level, inside and outside spans, and returns the open spans.
fn log_everything() -> [Span; 2] {
    log_every_level::<0>();
    let inner = tracing::debug_span!("inner");
    inner.in_scope(log_every_level::<10>);
    let outer = tracing::error_span!("outer");
    outer.in_scope(|| {
        tracing::info!(target: "other", n = 20);
        tracing::error!(target: "other", n = 21);
    });
    [inner, outer]
}

fn printed(stack: impl FnOnce(Boxed, Boxed) -> Boxed) -> (Vec<u64>, Vec<u64>) {
    let pair = Pair::default();
    let layers = stack(pair.text_layer(), pair.json_layer());
    let _spans = with_default(registry().with(layers), log_everything);
    (pair.text_times().into_keys().collect(), pair.json_times().into_keys().collect())
}

/// Asserts that a stack prints the same whether or not `around` is applied to its parts.
#[track_caller]
fn assert_unseen(around: fn(Boxed) -> Boxed) {
    type Stack = fn(Boxed, Boxed, fn(Boxed) -> Boxed) -> Boxed;
    let stacks: [Stack; 10] = [
        |text, json, around| around(text.and_then(json).boxed()),
        |text, json, around| around(text.with_filter(LevelFilter::WARN).and_then(json).boxed()),
        |text, json, around| {
            let (text, json) =
                (text.with_filter(LevelFilter::WARN), json.with_filter(LevelFilter::INFO));
            around(text.and_then(json).boxed())
        },
        |text, json, around| {
            let text = around(text.with_filter(LevelFilter::WARN).boxed());
            text.and_then(around(
                json.with_filter(EnvFilter::new("other=info,[inner]=debug")).boxed(),
            ))
            .boxed()
        },
        |text, json, around| {
            let text = around(text).with_filter(filter_fn(|metadata| metadata.target() == "other"));
            around(vec![text.boxed(), json.with_filter(LevelFilter::OFF).boxed()].boxed())
        },
        |text, json, around| around(EnvFilter::new("info").and_then(text).and_then(json).boxed()),
        |text, json, around| around(around(text).and_then(None::<Boxed>).and_then(json).boxed()),
        |_, json, around| {
            around(None::<Boxed>.boxed()).and_then(json.with_filter(LevelFilter::INFO)).boxed()
        },
        |text, json, around| {
            let within = dynamic_filter_fn(|_, context| {
                context.lookup_current().is_some_and(|span| span.name() == "inner")
            });
            around(
                vec![
                    text.with_filter(within).boxed(),
                    around(json.with_filter(LevelFilter::WARN).boxed()),
                ]
                .boxed(),
            )
        },
        |text, json, around| {
            let filter = LevelFilter::INFO.and(EnvFilter::new("[outer]=trace").not());
            around(text.and_then(json).with_filter(filter).boxed())
        },
    ];
    for (number, stack) in stacks.into_iter().enumerate() {
        let without = printed(|text, json| stack(text, json, |layer| layer));
        let with = printed(|text, json| stack(text, json, around));
        assert_eq!(with, without, "stack {number}");
        assert!(without.0.len() + without.1.len() > 0, "stack {number} prints nothing at all");
    }
}

#[test]
fn event_time_lets_every_filter_work() {
    assert_unseen(|layer| EventTime::new(layer).boxed());
    assert_unseen(|layer| EventTime::new(layer).with_span_events().boxed());
}

/// tracing-subscriber finds a per-layer filter or a `None` inside the layer, whose level does not
/// limit the layers below.
#[test]
fn layers_below_keep_their_levels() {
    let below = || registry().with(fmt::layer());
    let filtered = || fmt::layer().with_filter(LevelFilter::WARN);
    assert_eq!(below().with(filtered()).max_level_hint(), None);
    assert_eq!(below().with(EventTime::new(filtered())).max_level_hint(), None);
    let none = || None::<fmt::Layer<_>>;
    assert_eq!(below().with(none()).max_level_hint(), None);
    assert_eq!(below().with(EventTime::new(none())).max_level_hint(), None);
    // The control: a filter for the whole subscriber does limit them.
    let global = below().with(EventTime::new(LevelFilter::WARN));
    assert_eq!(global.max_level_hint(), Some(LevelFilter::WARN));
}
