//! In place of the options for spans that are sent, without a feature that has sinks of spans.
#![expect(clippy::unused_self, reason = "the calls are those of the room in whose place it is")]

use crate::back_end::spans::Sent;
use crate::error::Error;
use crate::faults::Faults;
use crate::shared::spans::Spans;
use crate::sink::Sink;
use crate::sink::all::Sinks;
use crate::trace::sampling::Sampling;

#[derive(Debug, Default)]
pub(super) struct SentOptions {}

impl SentOptions {
    pub(super) fn check(&self, _: &[Sink], _: &mut Faults) {}

    pub(super) fn environment_fault(&self) -> Option<Error> {
        None
    }

    pub(super) fn sampling(&mut self) -> Sampling {
        Sampling::default()
    }

    pub(super) fn share(&self, _: &mut Spans) {}

    pub(super) fn start(&mut self, _: &Sinks, _: &[String]) -> (Sent, Option<u32>) {
        (Sent, None)
    }
}
