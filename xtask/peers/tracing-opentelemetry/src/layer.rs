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
use tach_pipeline::{OpenTelemetrySpanExt as _, Pipeline};
use tracing_core::span::Id;
use tracing_core::{Dispatch, LevelFilter};

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

/// A layer without a tracer.
pub struct Untraced;

pub fn layer() -> Untraced {
    Untraced
}

/// What moving.md has in place of the peer's function, for `on_enter` of another layer.
pub fn get_otel_context(_: &Id, _: &Dispatch) -> Option<opentelemetry::Context> {
    let context = tracing::Span::current().context();
    opentelemetry::trace::TraceContextExt::has_active_span(&context).then_some(context)
}

impl Untraced {
    pub fn with_tracer(self, tracer: Tracer) -> Pipeline {
        tracer.pipeline()
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
    fn with_context_activation(self, _: bool) -> Self {
        self
    }

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

impl Options for Pipeline {
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

fn changed(change: impl FnOnce(&mut Settings)) -> Pipeline {
    Wire::change(change)
}

#[cfg(test)]
fn thread_id_integer(id: thread::ThreadId) -> u64 {
    let text = format!("{id:?}");
    text.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

#[cfg(test)]
include!(concat!(env!("PEER_TESTS"), "/layer.rs"));
