//! In place of the option for records that outlive the process.
#![expect(
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "the calls are those of the room in whose place it is"
)]

use crate::back_end::survival::Survival;
use crate::error::Error;
use crate::faults::Faults;
use crate::incident::Reporter;
use crate::queue::WhenFull;
use crate::sink::all::Opened;

#[derive(Debug, Default)]
pub(super) struct Options {}

impl Options {
    pub(super) fn check(&self, _: &mut Opened, _: &mut Faults) {}

    pub(super) fn open(
        &self,
        _: &mut Opened,
        _: WhenFull,
        _: &mut Reporter,
    ) -> Result<Option<Survival>, Error> {
        Ok(None)
    }
}
