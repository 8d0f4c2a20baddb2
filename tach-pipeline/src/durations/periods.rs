//! When the times began that exports are about.

use tach_core::UnixTime;

pub(super) struct Periods {
    pub(super) start: UnixTime,
    pub(super) period_start: UnixTime,
}

impl Periods {
    pub(super) fn new(start: UnixTime) -> Self {
        Self { start, period_start: start }
    }
}
