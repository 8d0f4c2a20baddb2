//! The start of a span: tach's, or given by the caller.

use core::sync::atomic::AtomicBool;
use std::time::SystemTime;

use opentelemetry::Context;
use opentelemetry::trace::{Span, SpanBuilder, TraceContextExt, Tracer};
use tach_core::{Clock, Instant};

use super::ClockedSpan;
use crate::clocked::Clocked;
use crate::line::Line;
use crate::present::{Present, system_time};

/// The start of a span.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    line: Line,
    pub(crate) time: SystemTime,
    /// Whether the caller chose the time.
    is_given: bool,
}

impl Start {
    /// Reads the clock for a span below `parent`.
    ///
    /// It may be read early, because the start is published afterwards, unless the parent is a span
    /// of this process that is exported: the start must not be before the parent's.
    #[inline]
    pub(crate) fn now<T, C: Clock>(tracer: &Clocked<T, C>, parent: &Context) -> Self {
        let span = parent.span();
        let parent_context = span.span_context();
        let is_ordered = parent_context.is_sampled() && !parent_context.is_remote();
        let clock = &tracer.clock;
        let now = if is_ordered { clock.monotonic_now() } else { clock.early_now() };
        Self::at(tracer, now)
    }

    #[inline]
    fn at<T, C: Clock>(tracer: &Clocked<T, C>, instant: Instant) -> Self {
        let moment = tracer.lines.moment(&tracer.clock, instant);
        let line = tracer.lines.of_span(moment);
        Self { line, time: system_time(line.ns_at(moment.elapsed_ns)), is_given: false }
    }
}

impl<S: Span, C: Clock + Clone> ClockedSpan<S, C> {
    /// Starts a span from `builder`, and replaces its times.
    #[inline]
    pub(crate) fn from_builder<T>(
        tracer: &Clocked<T, C>,
        mut builder: SpanBuilder,
        parent: &Context,
    ) -> Self
    where
        T: Tracer<Span = S>,
    {
        let has_events = builder.events.is_some();
        let start = if has_events || builder.start_time.is_some() {
            given_start(tracer, &mut builder)
        } else {
            Start::now(tracer, parent)
        };
        builder.start_time.get_or_insert(start.time);
        Self::new(tracer, start, has_events, builder, parent)
    }

    #[inline]
    pub(crate) fn new<T: Tracer<Span = S>>(
        tracer: &Clocked<T, C>,
        start: Start,
        is_seen: bool,
        builder: SpanBuilder,
        parent: &Context,
    ) -> Self {
        let (clock, lines) = (tracer.clock.clone(), tracer.lines);
        // Create the wrapped span last: if nothing can panic afterwards, the compiler builds it in
        // place and does not move it.
        Self {
            inner: tracer.inner.build_with_context(builder, parent),
            clock,
            lines,
            line: start.line,
            start: start.time,
            is_seen: AtomicBool::new(is_seen),
            is_start_given: start.is_given,
            has_ended: false,
        }
    }
}

/// Returns the start of a span whose builder has times, and moves these if they must be moved.
#[cold]
fn given_start<T, C: Clock>(tracer: &Clocked<T, C>, builder: &mut SpanBuilder) -> Start {
    let instant = tracer.clock.monotonic_now();
    let now = Start::at(tracer, instant);
    let present = Present::read(&tracer.clock, tracer.lines, now.line, instant);
    let (time, is_given) = present.settle(builder, now.time);
    Start { time, is_given, ..now }
}
