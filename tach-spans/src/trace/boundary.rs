//! What spans keep for `opentelemetry`: the contexts in which they are current.

use core::mem;

use opentelemetry::Context;

use super::Contexts;
use super::otel::started::Started;
use super::otel::{TRACERS, has_baggage, local_id};
use super::slots::Open;
use tach_record::ids::SpanContext;

impl Open {
    /// Returns the context of an active span, or the one with another span's baggage. Returns
    /// `None` also if the thread was interrupted while it changed the context.
    #[inline]
    pub fn otel(self) -> Option<Context> {
        self.read(|span| span.values.context.clone()).flatten()
    }

    /// Sets the context of an active span, or the one with another span's baggage.
    #[inline]
    pub fn set_otel(self, context: Option<Context>) {
        if context.as_ref().is_some_and(has_baggage) {
            self.ids().set_passes_on();
        }
        // Drop the former context after the lock is released: its destructor may be the user's
        // code, which may take the lock again.
        let _before = self.change(|span| mem::replace(&mut span.values.context, context));
    }

    /// Returns the context that holds the baggage of a span, if there is baggage.
    pub fn baggage(self) -> Option<Context> {
        if self.ids().passes_on() { self.otel().filter(has_baggage) } else { None }
    }

    /// Notes that the layer of `tracing-opentelemetry` has seen the span.
    pub fn set_started(self, started: Started) {
        self.change(|span| span.values.started = Some(Box::new(started)));
    }

    /// Returns how a span started that the layer of `tracing-opentelemetry` has seen.
    pub fn started(self) -> Option<Started> {
        self.read(|span| span.values.started.as_deref().cloned()).flatten()
    }

    /// Sets the id of the nearest span of `tracing` that contains a tracer's span.
    pub fn set_nearest(self, nearest: u64) {
        self.change(|span| span.values.nearest = nearest);
    }

    /// Returns the id of the nearest span of `tracing` that the span with this id is or is in, or
    /// zero.
    pub fn nearest(self, id: u64) -> u64 {
        if !self.is_of(TRACERS) {
            return id;
        }
        self.read(|span| span.values.nearest).unwrap_or(0)
    }
}

impl Contexts {
    /// Returns the current span of a context and its ids, if it is an open one of this pipeline.
    pub fn current_in(&self, context: &Context) -> Option<(Open, SpanContext)> {
        self.find(local_id(context)?)
    }
}
