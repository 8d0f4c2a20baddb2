//! The options for spans that are sent.

use crate::back_end::spans::Sent;
use crate::error::Error;
use crate::faults::Faults;
use crate::shared::spans::Spans;
use crate::sink::Sink;
use crate::sink::all::Sinks;
use crate::spans::tail::Tail;
use crate::trace::sampling::{Callers, Sampling};

#[derive(Debug, Default)]
pub(crate) struct SentOptions {
    pub(crate) sampling: Option<Sampling>,
    pub(crate) tail: Option<Tail>,
    pub(crate) sends_unfinished: bool,
    pub(crate) callers: Callers,
}

impl SentOptions {
    /// Adds a fault for each option that can't work, and for those of spans that no sink takes.
    pub(super) fn check(&self, sinks: &[Sink], activates_all: bool, faults: &mut Faults) {
        if let Some(sampling) = &self.sampling {
            sampling.check(faults);
        }
        if let Some(tail) = &self.tail {
            tail.check(faults);
        }
        if sinks.iter().any(Sink::takes_spans) {
            return;
        }
        for (is_set, method) in [
            (self.sampling.is_some(), "sampling"),
            (self.tail.is_some(), "tail"),
            (self.sends_unfinished, "unfinished_spans"),
            (activates_all, "activate_all_spans"),
        ] {
            let wanted = "no sink takes spans; add one that does, Sink::otlp";
            faults.unless(!is_set, || format!("Builder::{method}"), wanted);
        }
    }

    /// Returns the fault of the environment, if it has one.
    pub(super) fn environment_fault(&self) -> Option<Error> {
        self.sampling.as_ref().and_then(Sampling::environment_fault)
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

    /// Returns the way of spans to the sinks, and the most events that one of these takes of a span.
    pub(super) fn start(&mut self, sinks: &Sinks, redacted: &[String]) -> (Sent, Option<u32>) {
        (Sent::new(self.tail.take(), redacted), sinks.most_events())
    }
}
