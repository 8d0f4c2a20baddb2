//! The SDK's tracers, loggers and spans below tach's, for the tests.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use opentelemetry::logs::LoggerProvider as _;
use opentelemetry::trace::{SpanBuilder, SpanContext, Status, Tracer, TracerProvider as _};
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use tach_otel::{Clocked, ClockedSpan};

use crate::logs::{SdkLogger, SdkLoggerProvider};
use crate::trace::{SdkTracer, SdkTracerProvider, Span, SpanData};

impl SdkTracerProvider {
    pub(crate) fn clocked_tracer(&self, name: &'static str) -> Clocked<SdkTracer> {
        Clocked::new(self.clone()).tracer(name)
    }

    pub(crate) fn clocked_tracer_with_scope(
        &self,
        scope: InstrumentationScope,
    ) -> Clocked<SdkTracer> {
        Clocked::new(self.clone()).tracer_with_scope(scope)
    }
}

impl SdkLoggerProvider {
    pub(crate) fn clocked_logger(&self, name: &'static str) -> Clocked<SdkLogger> {
        Clocked::new(self.clone()).logger(name)
    }

    pub(crate) fn clocked_logger_with_scope(
        &self,
        scope: InstrumentationScope,
    ) -> Clocked<SdkLogger> {
        Clocked::new(self.clone()).logger_with_scope(scope)
    }
}

/// A span of tach's, with the SDK's below it in view of the test.
pub(crate) struct TestSpan {
    clocked: ClockedSpan<Below>,
    below: Below,
}

impl TestSpan {
    /// Wraps a span of the SDK's.
    pub(crate) fn around(span: Span) -> Self {
        let span = Mutex::new(Some(span));
        Self::made(SpanBuilder::default(), move |_| {
            span.lock().unwrap().take().expect("one span is made")
        })
    }

    /// Builds a span by a tracer of the SDK's.
    pub(crate) fn built(tracer: &SdkTracer, builder: SpanBuilder) -> Self {
        let tracer = tracer.clone();
        Self::made(builder, move |builder| tracer.build(builder))
    }

    fn made(builder: SpanBuilder, make: impl Fn(SpanBuilder) -> Span) -> Self {
        let made = Arc::default();
        let clocked = Clocked::new(Starts { make, made: Arc::clone(&made) }).build(builder);
        let below = made.lock().unwrap().take().expect("a span was made");
        Self { clocked, below }
    }

    pub(crate) fn data(&self) -> Option<SpanData> {
        self.below.span.lock().unwrap().exported_data()
    }

    pub(crate) fn with_data<T>(&mut self, f: impl FnOnce(&mut SpanData) -> T) -> Option<T> {
        self.data().as_mut().map(f)
    }
}

impl Deref for TestSpan {
    type Target = ClockedSpan<Below>;

    fn deref(&self) -> &Self::Target {
        &self.clocked
    }
}

impl DerefMut for TestSpan {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.clocked
    }
}

/// A tracer that remembers the last span that it made.
struct Starts<F> {
    make: F,
    made: Arc<Mutex<Option<Below>>>,
}

impl<F: Fn(SpanBuilder) -> Span> Tracer for Starts<F> {
    type Span = Below;

    fn build_with_context(&self, builder: SpanBuilder, _: &Context) -> Below {
        let span = (self.make)(builder);
        let context = opentelemetry::trace::Span::span_context(&span).clone();
        let below = Below { span: Arc::new(Mutex::new(span)), context };
        *self.made.lock().unwrap() = Some(below.clone());
        below
    }
}

/// A span of the SDK's, of which a test holds a second handle.
#[derive(Clone)]
pub(crate) struct Below {
    span: Arc<Mutex<Span>>,
    context: SpanContext,
}

impl opentelemetry::trace::Span for Below {
    fn add_event_with_timestamp<T>(&mut self, name: T, time: SystemTime, attributes: Vec<KeyValue>)
    where
        T: Into<Cow<'static, str>>,
    {
        self.span.lock().unwrap().add_event_with_timestamp(name, time, attributes);
    }

    fn span_context(&self) -> &SpanContext {
        &self.context
    }

    fn is_recording(&self) -> bool {
        self.span.lock().unwrap().is_recording()
    }

    fn set_attribute(&mut self, attribute: KeyValue) {
        self.span.lock().unwrap().set_attribute(attribute);
    }

    fn set_status(&mut self, status: Status) {
        self.span.lock().unwrap().set_status(status);
    }

    fn update_name<T: Into<Cow<'static, str>>>(&mut self, name: T) {
        self.span.lock().unwrap().update_name(name);
    }

    fn add_link(&mut self, context: SpanContext, attributes: Vec<KeyValue>) {
        self.span.lock().unwrap().add_link(context, attributes);
    }

    fn end_with_timestamp(&mut self, time: SystemTime) {
        self.span.lock().unwrap().end_with_timestamp(time);
    }
}
