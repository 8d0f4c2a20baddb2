//! The options for spans that are sent.

use crate::back_end::assembly::Sent;
use crate::error::{Class, Error};
use crate::faults::Faults;
use crate::pipeline::builder::Builder;
use crate::shared::span_state::Spans;
use crate::sink::Sink;
use crate::sink::all::Sinks;
use crate::spans::tail::Tail;
use crate::trace::sampling::{Callers, Sampling};

#[derive(Debug, Clone, Default)]
pub(super) struct SentOptions {
    sampling: Option<Sampling>,
    tail: Option<Tail>,
    sends_unfinished: bool,
    callers: Callers,
}

impl SentOptions {
    /// Adds a fault for each option that can't work, and for those of spans that no sink takes.
    pub(super) fn check(&self, sinks: &[Sink], faults: &mut Faults) {
        if let Some(sampling) = &self.sampling {
            faults.add_all(sampling.faults());
        }
        if let Some(tail) = &self.tail {
            faults.add_all(tail.faults());
        }
        if sinks.iter().any(|sink| sink.target().takes_spans()) {
            return;
        }
        for (is_set, method) in [
            (self.sampling.is_some(), "sampling"),
            (self.tail.is_some(), "tail"),
            (self.sends_unfinished, "unfinished_spans"),
        ] {
            let wanted = "no sink takes spans; add one that does, Sink::otlp";
            faults.unless(!is_set, || format!("Builder::{method}"), wanted);
        }
    }

    /// If a sink of spans reads the environment, and the program sets no sampling, takes the
    /// sampling of the environment. Returns its fault, if it has one.
    pub(super) fn read_environment(&mut self, sinks: &[Sink]) -> Option<Error> {
        if self.sampling.is_none() && sinks.iter().any(|sink| sink.target().is_sampled_by_env()) {
            self.sampling = Some(Sampling::from_env());
        }
        let fault = self.sampling.as_ref().and_then(Sampling::environment_fault);
        fault.map(|fault| Error::other(Class::Option, fault, None))
    }

    /// Takes the sampling of spans that are sent.
    pub(super) fn sampling(&mut self) -> Sampling {
        self.sampling.take().unwrap_or_default()
    }

    /// Sets the options that calls and the back end look at.
    pub(super) fn share(&self, spans: &mut Spans) {
        spans.sends_unfinished = self.sends_unfinished;
        spans.callers = self.callers;
    }

    /// Returns the back end's part, which passes spans to the sinks, and the most events of a span
    /// that a sink takes.
    pub(super) fn start(&mut self, sinks: &Sinks, redacted: &[String]) -> (Sent, Option<u32>) {
        (Sent::new(self.tail.take(), redacted), sinks.most_events())
    }
}

impl Builder {
    /// Sets which spans of tracing are recorded and sent. A sink must take spans. By default all
    /// are, or those that [`Sampling::from_env`] chooses if a sink of spans has the options of
    /// `Otlp::from_env`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sampling};
    ///
    /// let builder = Pipeline::builder().sampling(Sampling::ratio(0.01));
    /// ```
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.spans.sent.sampling = Some(sampling);
        self
    }

    /// Sets which traces are kept when they have ended, by default all. A sink must take spans.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::{Pipeline, Tail};
    ///
    /// let tail = Tail::ratio(0.01).slower_than(Duration::from_secs(1));
    /// let builder = Pipeline::builder().tail(tail);
    /// ```
    pub fn tail(mut self, tail: Tail) -> Self {
        self.spans.sent.tail = Some(tail);
        self
    }

    /// Begins a trace at each span that would have a parent in another process, and links the span
    /// to its caller's: for a service that strangers call.
    ///
    /// A caller chooses the headers `traceparent` and `tracestate`. Without this method its sampled
    /// flag decides whether this service records and sends the spans of the request, whatever
    /// [`sampling`](Self::sampling) says, and its `tracestate`, up to 513 bytes, is in each span.
    /// With this method `sampling` and [`tail`](Self::tail) decide, one link has the caller's ids,
    /// and the `tracestate` is dropped. This applies to all ways to set such a parent:
    /// [`SpanExt::set_remote_parent`](crate::SpanExt::set_remote_parent),
    /// [`TraceContext::in_scope`](crate::TraceContext::in_scope), and contexts of `opentelemetry`
    /// that a propagator has extracted. Baggage in such a context stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sampling};
    ///
    /// let builder = Pipeline::builder().public_endpoint().sampling(Sampling::ratio(0.01));
    /// ```
    pub fn public_endpoint(mut self) -> Self {
        self.spans.sent.callers = Callers::Strangers;
        self
    }

    /// Sends the spans that are still open when the process ends, with the attribute
    /// `tach.unfinished`, which is `true`. By default they are not sent. A sink must take spans.
    ///
    /// The process ends, as far as the pipeline knows, when the [`Guard`](crate::Guard) is dropped,
    /// at an [exit](Self::without_flush_at_exit), and at a signal or a panic for which the pipeline
    /// is flushed. That time is the end of such a span, since the true one is not known. Errors so
    /// far set its status.
    ///
    /// A span is sent unfinished once. If the process goes on, as after a panic that is caught, and
    /// the span ends, it is sent again: whole, with the same ids, and without the attribute. A
    /// [`Pipeline::flush`](crate::Pipeline::flush) does not send open spans.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().unfinished_spans();
    /// ```
    pub fn unfinished_spans(mut self) -> Self {
        self.spans.sent.sends_unfinished = true;
        self
    }
}
