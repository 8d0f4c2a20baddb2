//! `Clocked` as a tracer provider and as a tracer.

use std::borrow::Cow;

use opentelemetry::trace::{SpanBuilder, Tracer, TracerProvider};
use opentelemetry::{Context, InstrumentationScope};
use tach_core::Clock;

use crate::clocked::Clocked;
use crate::span::{ClockedSpan, Start};

impl<T: TracerProvider, C: Clock + Clone> TracerProvider for Clocked<T, C> {
    type Tracer = Clocked<T::Tracer, C>;

    fn tracer(&self, name: impl Into<Cow<'static, str>>) -> Self::Tracer {
        self.around(self.inner.tracer(name))
    }

    fn tracer_with_scope(&self, scope: InstrumentationScope) -> Self::Tracer {
        self.around(self.inner.tracer_with_scope(scope))
    }
}

/// The trait's other methods call `start_with_context` or `build_with_context`.
impl<T: Tracer, C: Clock + Clone> Tracer for Clocked<T, C> {
    type Span = ClockedSpan<T::Span, C>;

    fn span_builder<N>(&self, name: N) -> SpanBuilder
    where
        N: Into<Cow<'static, str>>,
    {
        self.inner.span_builder(name)
    }

    /// Creates the builder with its time. Changing one that was passed in would copy it.
    fn start_with_context<N>(&self, name: N, parent_cx: &Context) -> Self::Span
    where
        N: Into<Cow<'static, str>>,
    {
        let start = Start::now(self, parent_cx);
        let builder = SpanBuilder::from_name(name).with_start_time(start.time);
        ClockedSpan::new(self, start, false, builder, parent_cx)
    }

    fn build_with_context(&self, builder: SpanBuilder, parent_cx: &Context) -> Self::Span {
        ClockedSpan::from_builder(self, builder, parent_cx)
    }
}
