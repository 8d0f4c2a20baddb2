//! The options for spans that are sent.

use core::mem;

use crate::back_end::spans::Sent;
use crate::error::Error;
use crate::shared::spans::Spans;
use crate::sink::all::Sinks;
use crate::spans::tail::Tail;
use crate::trace::sampling::{Callers, Sampling};

#[derive(Debug, Default)]
pub(crate) struct SentOptions {
    pub(crate) sampling: Sampling,
    pub(crate) tail: Option<Tail>,
    pub(crate) sends_unfinished: bool,
    pub(crate) callers: Callers,
}

impl SentOptions {
    /// # Errors
    ///
    /// If an option comes from a variable that can't be used.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.sampling.check()
    }

    /// Takes the sampling of spans that are sent.
    pub(super) fn sampling(&mut self) -> Sampling {
        mem::take(&mut self.sampling)
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
