//! A layer around another one forwards every method.

use std::sync::{Arc, Mutex};

use tach_tracing::EventTime;
use tracing::dispatcher::with_default;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Metadata};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::{Registry, registry};

#[derive(Debug, Clone, Default)]
struct Recorder(Arc<Mutex<Vec<&'static str>>>);

impl Recorder {
    fn note(&self, method: &'static str) {
        self.0.lock().unwrap().push(method);
    }
}

impl Layer<Registry> for Recorder {
    fn on_register_dispatch(&self, _: &Dispatch) {
        self.note("on_register_dispatch");
    }

    fn on_layer(&mut self, _: &mut Registry) {
        self.note("on_layer");
    }

    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, Registry>) -> bool {
        self.note("enabled");
        metadata.target() != "disabled"
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, Registry>) -> bool {
        self.note("event_enabled");
        event.metadata().target() != "event disabled"
    }

    fn on_new_span(&self, _: &Attributes<'_>, _: &Id, _: Context<'_, Registry>) {
        self.note("on_new_span");
    }

    fn on_record(&self, _: &Id, _: &Record<'_>, _: Context<'_, Registry>) {
        self.note("on_record");
    }

    fn on_follows_from(&self, _: &Id, _: &Id, _: Context<'_, Registry>) {
        self.note("on_follows_from");
    }

    fn on_event(&self, _: &Event<'_>, _: Context<'_, Registry>) {
        self.note("on_event");
    }

    fn on_enter(&self, _: &Id, _: Context<'_, Registry>) {
        self.note("on_enter");
    }

    fn on_exit(&self, _: &Id, _: Context<'_, Registry>) {
        self.note("on_exit");
    }

    fn on_close(&self, _: Id, _: Context<'_, Registry>) {
        self.note("on_close");
    }

    fn on_id_change(&self, _: &Id, _: &Id, _: Context<'_, Registry>) {
        self.note("on_id_change");
    }
}

fn calls<L: Layer<Registry> + Send + Sync>(
    around: impl FnOnce(Recorder) -> L,
) -> Vec<&'static str> {
    let recorder = Recorder::default();
    let layer = around(recorder.clone());
    assert_eq!(layer.max_level_hint(), Some(LevelFilter::DEBUG));
    let dispatch = Dispatch::new(registry().with(layer));
    assert!(dispatch.downcast_ref::<Recorder>().is_some());
    assert!(dispatch.downcast_ref::<L>().is_some());
    with_default(&dispatch, || {
        tracing::info!(target: "disabled", "event");
        tracing::info!(target: "event disabled", "event");
        tracing::info!("event");
        let span = tracing::info_span!("span", field = tracing::field::Empty);
        span.record("field", 1);
        span.follows_from(tracing::info_span!("other"));
        span.in_scope(|| ());
    });
    drop(dispatch);
    let calls = recorder.0.lock().unwrap();
    calls.clone()
}

#[test]
fn every_call_is_forwarded() {
    let directly = calls(|recorder| recorder);
    assert_eq!(directly.iter().filter(|method| **method == "on_close").count(), 2);
    for method in ["on_register_dispatch", "on_layer", "on_record", "on_follows_from", "on_exit"] {
        assert!(directly.contains(&method), "{method}");
    }
    assert_eq!(calls(EventTime::new), directly);
    assert_eq!(calls(|recorder| EventTime::new(recorder).with_span_events()), directly);
}

/// A layer that reports a changed span number to the inner one. tracing-subscriber never does.
struct Changing<L>(L);

impl<L: Layer<Registry>> Layer<Registry> for Changing<L> {
    fn on_event(&self, _: &Event<'_>, context: Context<'_, Registry>) {
        self.0.on_id_change(&Id::from_u64(1), &Id::from_u64(2), context);
    }
}

#[test]
fn a_change_of_a_span_s_number_is_forwarded() {
    let recorder = Recorder::default();
    let layer = Changing(EventTime::new(recorder.clone()));
    let dispatch = Dispatch::new(registry().with(layer));
    with_default(&dispatch, || tracing::info!("event"));
    assert_eq!(*recorder.0.lock().unwrap(), ["on_id_change"]);
}
