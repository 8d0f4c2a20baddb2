//! The requests at the services.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tach_tower::Budget;

/// The requests of all services, in the order of their arrival.
#[derive(Debug, Clone, Default)]
pub struct Journal(Arc<Mutex<Vec<Visit>>>);

/// A request at a service.
#[derive(Debug, Clone)]
pub struct Visit {
    pub service: &'static str,
    pub budget: Option<Budget>,
    /// How long the budget was over when the service let go of the request: its handler and, if it
    /// streamed, the response's stream. `None` before.
    pub outlived: Option<Duration>,
    /// Whether the service finished its work.
    pub is_done: bool,
}

/// Kept by a handler or a stream as long as it works.
#[derive(Debug)]
pub struct Working {
    journal: Journal,
    at: usize,
}

impl Journal {
    /// Notes a request, whose budget is the current one.
    #[must_use]
    pub fn enter(&self, service: &'static str) -> Working {
        let budget = tach_tower::current();
        let mut visits = self.0.lock().unwrap();
        visits.push(Visit { service, budget, outlived: None, is_done: false });
        Working { journal: self.clone(), at: visits.len() - 1 }
    }

    #[must_use]
    pub fn visits(&self) -> Vec<Visit> {
        self.0.lock().unwrap().clone()
    }
}

impl Working {
    /// Notes that the work is done.
    pub fn done(&self) {
        self.journal.0.lock().unwrap()[self.at].is_done = true;
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let visit = &mut self.journal.0.lock().unwrap()[self.at];
        let over = |budget: Budget| budget.elapsed().saturating_sub(budget.total());
        visit.outlived = Some(visit.budget.map_or(Duration::ZERO, over));
    }
}
