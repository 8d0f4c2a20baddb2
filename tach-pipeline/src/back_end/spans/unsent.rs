//! Stubs for builds without sinks of spans, in place of the code that passes spans to sinks.
#![expect(clippy::unused_self, reason = "the calls are those of the room in whose place it is")]

use tach_core::UnixTime;

use crate::durations::Collected;
use crate::sink::all::Sinks;
use crate::spans::span::Span;
#[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
use crate::spans::standing::Change;
use crate::stats::Counts;

pub(crate) struct Sent;

impl Sent {
    pub(super) fn begin_round(&mut self) {}

    pub(super) fn span(&mut self, _: &Span<'_>, _: &mut Sinks) {}

    #[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
    pub(super) fn recovered(&self, _: &Span<'_>, _: &mut Sinks) {}

    #[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
    pub(super) fn keep(&mut self) {}

    #[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
    pub(super) fn take_changes(
        &mut self,
        _: &mut dyn FnMut(&Change<'_>),
    ) -> impl Iterator<Item = u64> + use<> {
        core::iter::empty()
    }

    #[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
    pub(super) fn each_waiting(&self, _: &mut dyn FnMut(&Change<'_>)) {}

    pub(super) fn end_round(&mut self, _: &Counts, _: &mut Sinks) {}

    pub(super) fn flush(&mut self, _: &mut Sinks) {}

    pub(super) fn finish(&mut self, _: &Counts, _: &mut Sinks) {}

    pub(super) fn is_waiting(&self) -> bool {
        false
    }

    pub(super) fn export_durations(&mut self, _: &Collected, _: UnixTime, _: bool, _: &mut Sinks) {}
}
