//! In place of private memory in forked children, where processes don't fork.

use memmap2::MmapRaw;

pub(crate) struct Private;

impl Private {
    pub(super) fn new(_: &MmapRaw) -> Self {
        Self
    }
}
