//! What a layer, its services and their responses share.

use std::sync::Arc;

use crate::counts::{Counts, Outcome};
use crate::settings::Settings;

/// What a layer, its services and their responses share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) counts: Counts,
}

/// The count of one request, which is raised when this is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) shared: Arc<Shared>,
    pub(crate) outcome: Outcome,
}

impl Drop for Counted {
    #[inline]
    fn drop(&mut self) {
        self.shared.counts.outcomes[self.outcome as usize].add_one();
    }
}
