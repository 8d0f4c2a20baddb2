//! In place of the options for spans, without a feature that has spans.
#![expect(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "the calls are those of the room in whose place it is"
)]

use core::time::Duration;
use std::sync::Arc;

use tach_record::keep::Keeper;

use crate::back_end::assembly::Spans;
use crate::error::Error;
use crate::faults::Faults;
use crate::filter::Levels;
use crate::frame::Wanted;
use crate::incident::Reporter;
use crate::shared::Shared;
use crate::sink::Sink;
use crate::sink::all::Sinks;

/// Files that are never written.
pub(super) type Files = core::convert::Infallible;

#[derive(Debug, Clone, Default)]
pub(super) struct SpanOptions {}

impl SpanOptions {
    pub(super) fn check(&self, _: &[Sink], _: Duration, _: &mut Faults) {}

    pub(super) fn read_environment(&mut self, _: &[Sink]) -> Option<Error> {
        None
    }

    pub(super) fn ignored_variables(&self) -> impl Iterator<Item = Error> {
        core::iter::empty()
    }

    pub(super) fn files(&self) -> Result<Option<Files>, Error> {
        Ok(None)
    }

    pub(super) fn look_at(&mut self, _: &[Sink]) {}

    pub(super) fn recorded(&self, _: bool) -> Option<Levels> {
        None
    }

    pub(super) fn add_to(&mut self, _: &mut Wanted) {}

    pub(super) fn share(&mut self, _: &mut Shared, _: Option<Files>) {}

    pub(super) fn start(
        &mut self,
        _: &Arc<Shared>,
        _: &Sinks,
        _: &[String],
        _: Reporter,
        _: &mut Option<Box<dyn Keeper>>,
    ) -> Spans {
        Spans
    }

    pub(super) fn dump_on_panic(&self, _: &Arc<Shared>) {}
}
