//! The layer around and inside every kind of stack.

use tach_tracing::EventTime;
use tracing::subscriber::with_default;
use tracing_subscriber::filter::{EnvFilter, LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer as _, registry, reload};

use super::{Boxed, Pair};

const EVENTS: u64 = 100;

#[track_caller]
fn assert_one_time(stack: impl FnOnce(Boxed, Boxed) -> Boxed) {
    let pair = Pair::default();
    let layers = stack(pair.text_layer(), pair.json_layer());
    with_default(registry().with(layers), || (0..EVENTS).for_each(|n| tracing::info!(n)));
    pair.assert_same(0..EVENTS);
}

fn everything() -> EnvFilter {
    EnvFilter::new("trace")
}

#[test]
fn one_layer_after_the_other() {
    assert_one_time(|text, json| EventTime::new(text.and_then(json)).boxed());
}

#[test]
fn a_vec_of_boxed_layers() {
    assert_one_time(|text, json| EventTime::new(vec![text, json]).boxed());
}

#[test]
fn options() {
    assert_one_time(|text, json| {
        EventTime::new(Some(vec![None, Some(text), None, Some(json)])).boxed()
    });
    assert_one_time(|text, json| Some(EventTime::new(text.and_then(json))).boxed());
}

#[test]
fn a_level_filter_a_function_and_an_env_filter_inside() {
    assert_one_time(|text, json| {
        let text = text.with_filter(LevelFilter::INFO);
        EventTime::new(text.and_then(json.with_filter(everything()))).boxed()
    });
    assert_one_time(|text, json| {
        EventTime::new(text.with_filter(filter_fn(|_| true)).and_then(json)).boxed()
    });
}

#[test]
fn filters_around_it() {
    assert_one_time(|text, json| {
        EventTime::new(text.and_then(json)).with_filter(LevelFilter::INFO).boxed()
    });
    assert_one_time(|text, json| {
        EventTime::new(text.and_then(json)).with_filter(everything()).boxed()
    });
    assert_one_time(|text, json| {
        let filtered = EventTime::new(text.with_filter(everything()).and_then(json));
        filtered.with_filter(filter_fn(|_| true)).boxed()
    });
    // A filter for the whole subscriber.
    assert_one_time(|text, json| {
        EventTime::new(everything().and_then(text).and_then(json)).boxed()
    });
}

#[test]
fn nested_layers() {
    assert_one_time(|text, json| {
        EventTime::new(EventTime::new(text).and_then(EventTime::new(json))).boxed()
    });
}

#[test]
fn reloaded_inside_and_around() {
    let pair = Pair::default();
    let (layer, handle) = reload::Layer::new(pair.text_layer());
    let stack = EventTime::new(layer.and_then(pair.json_layer()));
    with_default(registry().with(stack), || {
        (0..EVENTS).for_each(|n| tracing::info!(n));
        handle.reload(pair.text_layer()).unwrap();
        (EVENTS..2 * EVENTS).for_each(|n| tracing::info!(n));
    });
    pair.assert_same(0..2 * EVENTS);

    let pair = Pair::default();
    let stack = || EventTime::new(pair.text_layer().and_then(pair.json_layer()));
    let (layer, handle) = reload::Layer::new(stack());
    with_default(registry().with(layer), || {
        (0..EVENTS).for_each(|n| tracing::info!(n));
        handle.reload(stack()).unwrap();
        (EVENTS..2 * EVENTS).for_each(|n| tracing::info!(n));
    });
    pair.assert_same(0..2 * EVENTS);
}

#[test]
fn a_reloaded_filter() {
    let pair = Pair::default();
    let (filter, handle) = reload::Layer::new(LevelFilter::OFF);
    let stack = EventTime::new(pair.text_layer().with_filter(filter).and_then(pair.json_layer()));
    with_default(registry().with(stack), || {
        tracing::info!(n = 0);
        handle.reload(LevelFilter::INFO).unwrap();
        (1..EVENTS).for_each(|n| tracing::info!(n));
    });
    let (mut text, json) = (pair.text_times(), pair.json_times());
    assert!(!text.contains_key(&0));
    text.insert(0, json[&0].clone());
    assert_eq!(text, json);
}

/// The positive control.
#[test]
fn without_it_times_differ() {
    let pair = Pair::default();
    let layers = pair.text_layer().and_then(pair.json_layer());
    with_default(registry().with(layers), || (0..EVENTS).for_each(|n| tracing::info!(n)));
    assert_ne!(pair.text_times(), pair.json_times());
}
