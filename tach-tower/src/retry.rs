//! Retries within a budget.

use core::time::Duration;
use std::sync::Arc;

use tach_core::Budget;
use tokio::time::{Instant, Sleep};
use tower::retry::Policy;

use crate::call::Sends;
use crate::client::ClientSide;
use crate::current::{current, whole_of};
use crate::layer::BudgetLayer;
use crate::settings::ns;
use crate::shared::Shared;

/// A policy of `tower::retry` inside of a client's layer: a retry begins only if its pause ends
/// before the budget does, and announces the time that is left then. [`BudgetLayer::retry`] creates
/// it around another policy.
#[derive(Debug, Clone)]
pub struct Retry<P> {
    policy: P,
    shared: Arc<Shared>,
}

impl BudgetLayer<ClientSide> {
    /// Creates a policy for the `tower::retry` inside of this layer. It retries as `policy` says,
    /// whose pause is a sleep of tokio's, such as that of tower's `ExponentialBackoff`.
    ///
    /// If the budget ends before the pause, or less than the layer's
    /// [floor](crate::Settings::floor) is left after it, the call fails at once with the failure
    /// itself, in place of [`Exhausted`](crate::Exhausted) at the end of the budget. `policy` was
    /// asked before, and may have spent a token. A retry announces up to 1 ms less than is left,
    /// because tokio's sleeps end that much later.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use http::{Request, Response};
    /// use tach_tower::{BudgetLayer, Settings};
    /// use tokio::time::{Sleep, sleep};
    /// use tower::ServiceBuilder;
    /// use tower::retry::{Policy, RetryLayer};
    ///
    /// /// Retries each failure after 50 ms.
    /// #[derive(Clone)]
    /// struct Again;
    ///
    /// impl<Q: Clone, B, E> Policy<Request<Q>, Response<B>, E> for Again {
    ///     type Future = Sleep;
    ///
    ///     fn retry(&mut self, _: &mut Request<Q>, result: &mut Result<Response<B>, E>) -> Option<Sleep> {
    ///         result.is_err().then(|| sleep(Duration::from_millis(50)))
    ///     }
    ///
    ///     fn clone_request(&mut self, request: &Request<Q>) -> Option<Request<Q>> {
    ///         Some(request.clone())
    ///     }
    /// }
    ///
    /// let budgets = BudgetLayer::client(Settings::new());
    /// let retry = RetryLayer::new(budgets.retry(Again));
    /// let layers = ServiceBuilder::new().layer(budgets).layer(retry);
    /// ```
    #[must_use]
    pub fn retry<P>(&self, policy: P) -> Retry<P> {
        Retry { policy, shared: self.shared.clone() }
    }
}

/// How much later than its end a sleep of tokio's wakes.
const LATE: Duration = Duration::from_millis(1);

impl<P, R: Sends, T, E> Policy<R, T, E> for Retry<P>
where
    P: Policy<R, T, E, Future = Sleep>,
{
    type Future = Sleep;

    fn retry(&mut self, request: &mut R, result: &mut Result<T, E>) -> Option<Sleep> {
        let pause = self.policy.retry(request, result)?;
        let Some(head) = request.budget().or_else(current) else { return Some(pause) };
        let settings = &self.shared.settings;
        let wait_ns = ns(pause.deadline().saturating_duration_since(Instant::now()) + LATE);
        let left = |total_ns| match ns(Budget { total_ns, ..head }.remaining()) {
            u64::MAX => u64::MAX,
            left_ns => left_ns.saturating_sub(wait_ns),
        };
        let may_retry = !settings.refuses(left(head.total_ns))
            && request.announce(settings, left(whole_of(&head, true)));
        may_retry.then_some(pause)
    }

    fn clone_request(&mut self, request: &R) -> Option<R> {
        self.policy.clone_request(request)
    }
}
