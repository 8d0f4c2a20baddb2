//! tracing-opentelemetry's layer: the pipeline.

#[cfg(test)]
use std::borrow::Cow;
#[cfg(test)]
use std::{fmt, thread};

#[cfg(test)]
use opentelemetry::trace::{self as otel, SpanBuilder, TraceContextExt};
#[cfg(test)]
use opentelemetry::{Context as OtelContext, KeyValue, StringValue, Value};
use tach_otlp::Metadata;
use tach_pipeline::Pipeline;
use tracing_core::{Dispatch, LevelFilter, Subscriber};
use tracing_subscriber::layer::{Identity, Layer as _, Layered};
use tracing_subscriber::registry::LookupSpan;

#[cfg(test)]
use crate::opentelemetry_sdk;
use crate::provider::Tracer;
use crate::wire::{Settings, Wire};

#[cfg(test)]
const SPAN_EVENT_COUNT_FIELD: &str = "otel.tracing_event_count";
#[cfg(test)]
const FIELD_EXCEPTION_MESSAGE: &str = "exception.message";
#[cfg(test)]
const FIELD_EXCEPTION_STACKTRACE: &str = "exception.stacktrace";

/// The pipeline as a layer, and not also as a writer: with the prelude of tracing-subscriber, that
/// one has a second method `with_filter`.
type Layer<S> = Layered<Identity, Pipeline, S>;

/// A layer without a tracer.
pub struct Untraced;

pub fn layer() -> Untraced {
    Untraced
}

impl Untraced {
    pub fn with_tracer<S>(self, tracer: Tracer) -> Layer<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        tracer.pipeline().and_then(Identity::new())
    }

    pub fn with_error_records_to_exceptions(self, _: bool) -> Self {
        self
    }

    pub fn with_error_fields_to_exceptions(self, _: bool) -> Self {
        self
    }
}

/// The layer's options. Of most the pipeline has none: it does always, or never, what a test
/// expects. The list of differences names the tests that expect the other.
pub trait Options: Sized {
    fn with_context_activation(self, activates: bool) -> Self;

    fn with_tracked_inactivity(self, _: bool) -> Self {
        self
    }

    fn with_counting_event_filter(self, _: LevelFilter) -> Self {
        self
    }

    fn with_location(self, shows: bool) -> Self;

    fn with_threads(self, shows: bool) -> Self;

    fn with_level(self, shows: bool) -> Self;

    fn with_target(self, shows: bool) -> Self;

    fn with_error_events_to_exceptions(self, _: bool) -> Self {
        self
    }

    fn with_error_events_to_status(self, _: bool) -> Self {
        self
    }
}

impl<S> Options for Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn with_context_activation(self, activates: bool) -> Self {
        changed(|settings| settings.activates_all = activates)
    }

    fn with_location(self, shows: bool) -> Self {
        changed(|settings| settings.show(Metadata::Location, shows))
    }

    fn with_threads(self, shows: bool) -> Self {
        changed(|settings| settings.show(Metadata::Thread, shows))
    }

    fn with_level(self, shows: bool) -> Self {
        changed(|settings| settings.show(Metadata::Level, shows))
    }

    fn with_target(self, shows: bool) -> Self {
        changed(|settings| settings.show(Metadata::Target, shows))
    }
}

fn changed<S>(change: impl FnOnce(&mut Settings)) -> Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    Wire::change(change).and_then(Identity::new())
}

/// The pipeline keeps no context in a span's extensions.
pub fn get_otel_context(_: &tracing::span::Id, _: &Dispatch) -> Option<opentelemetry::Context> {
    None
}

#[cfg(test)]
fn thread_id_integer(id: thread::ThreadId) -> u64 {
    let text = format!("{id:?}");
    text.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

#[cfg(test)]
include!(concat!(env!("PEER_TESTS"), "/layer.rs"));
