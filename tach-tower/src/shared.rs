//! What a layer, its services and their responses share.

use std::sync::Arc;

use tach_core::Budget;

use crate::counts::{Counts, Outcome};
use crate::settings::Settings;
use crate::times::{Moment, Route};

/// What a layer, its services and their responses share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) counts: Counts,
}

pub(crate) const READY: &str = "no future is polled after it was ready";

/// The count of one request without a response, which is raised when this is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    /// `None` once the response is ready.
    pub(crate) shared: Option<Arc<Shared>>,
    pub(crate) outcome: Outcome,
    /// Where the time left is recorded: boxed, because few layers do so.
    pub(crate) route: Option<Box<Route>>,
}

impl Counted {
    /// Records the time that is left.
    #[inline]
    pub(crate) fn observe(&mut self, moment: Moment, budget: &Budget) {
        if let (Some(route), Some(shared)) = (&self.route, &self.shared) {
            shared.settings.record(&route.0, moment, budget);
        }
    }

    /// Counts the request now.
    #[inline]
    pub(crate) fn count(&mut self, outcome: Outcome, head: &Budget) -> Arc<Shared> {
        self.observe(Moment::Answer, head);
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
