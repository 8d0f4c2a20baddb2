//! Stubs for builds without spans, in place of the back end's code for spans.
#![expect(clippy::unused_self, reason = "the calls are those of the room in whose place it is")]

use core::time::Duration;
use std::sync::Arc;

use tach_core::UnixTime;

use super::cause::Cause;
use crate::frame::{Frame, Wanted};
use crate::queue::Queue;
use crate::sink::all::Sinks;

/// Adds nothing: only records of tracing have callsites with numbers.
pub(super) struct Whole;

impl Whole {
    pub(super) fn new(_: Wanted) -> Self {
        Self
    }

    pub(super) fn of<'a>(&mut self, record: &'a [u8], _: &Queue) -> &'a [u8] {
        record
    }

    pub(super) fn add_threads(&mut self, _: &[Arc<Queue>], _: &[Arc<Queue>]) {}

    pub(super) fn trim(&mut self) {}
}

pub(crate) struct Spans;

impl Spans {
    pub(super) fn begin_round(&mut self) {}

    pub(super) fn part(&mut self, _: &[u8], _: UnixTime, _: &Queue) -> bool {
        false
    }

    pub(super) fn recorded(&mut self, _: &[u8], _: UnixTime) {}

    pub(super) fn event(&mut self, _: &Frame<'_>) {}

    pub(super) fn released(&mut self, _: &Frame<'_>) {}

    pub(super) fn end_round(&mut self, _: &mut Sinks) {}

    pub(super) fn finish(&mut self, _: Cause, _: &mut Sinks) {}

    pub(super) fn begin_dump(&mut self, _: Option<Cause>) -> bool {
        false
    }

    pub(super) fn complete(&mut self, _: &mut Whole) {}

    pub(super) fn end_dump(&mut self, _: UnixTime) {}

    pub(super) fn export_durations(&mut self, _: UnixTime, _: bool, _: &mut Sinks) {}

    pub(super) fn suspect_loss(&mut self) {}

    pub(super) fn suspect_end(&mut self) {}

    pub(super) fn are_waiting(&self) -> bool {
        false
    }

    pub(super) fn due(&self, _: &Sinks) -> Option<Duration> {
        None
    }

    pub(super) fn trim(&mut self) {}
}
