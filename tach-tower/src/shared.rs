//! What a layer, its services and their responses share.

use std::sync::Arc;

use crate::counts::{Counts, Outcome};
use crate::drain::Drain;
use crate::settings::Settings;

/// What a layer, its services and their responses share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) counts: Counts,
    pub(crate) drain: Drain,
}

pub(crate) const READY: &str = "no future is polled after it was ready";

/// The count of one request without a response, which is raised when this is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    /// `None` once the response is ready.
    pub(crate) shared: Option<Arc<Shared>>,
    pub(crate) outcome: Outcome,
}

impl Counted {
    /// Counts the request now.
    #[inline]
    pub(crate) fn count(&mut self, outcome: Outcome) -> Arc<Shared> {
        let shared = self.shared.take().expect(READY);
        shared.counts.add(outcome);
        shared
    }
}

impl Drop for Counted {
    #[inline]
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.counts.add(self.outcome);
        }
    }
}
