//! Handlers that finish after their answer.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::panic::resume_unwind;
use std::sync::Arc;

use tach_core::Budget;
use tokio::task::JoinHandle;
use tower_layer::Layer;
use tower_service::Service;

use crate::counts::Counter;
use crate::current::{current, scope};

/// A layer inside of a [`BudgetLayer`](crate::BudgetLayer): the handler runs in a task of its own,
/// and finishes there after its request was answered with 504, or its client has hung up.
///
/// Without it a server's handler is dropped where it waits. What it had begun stays as it is: a
/// pooled connection goes back with an open transaction, and a second step of two is missing. The
/// current budget is the request's, so calls and queries still end with it. Nothing else of the
/// request's task is in the handler's: the current span of `tracing`, for example, is not.
///
/// # Panics
///
/// A call outside a tokio runtime panics. A panic of the handler is the caller's. If the runtime of
/// the call shuts down, the response never comes, so poll it in the same runtime.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{BudgetLayer, DetachLayer, Settings};
/// use tower::ServiceBuilder;
///
/// let detach = DetachLayer::default();
/// let layers = ServiceBuilder::new()
///     .layer(BudgetLayer::server(Settings::new().cap(Duration::from_secs(5))))
///     .layer(detach.clone());
/// println!("{} handlers outlived their requests", detach.detached());
/// ```
#[derive(Debug, Clone, Default)]
pub struct DetachLayer(Arc<Counter>);

impl DetachLayer {
    /// Returns the number of handlers that were still running when their request was over.
    #[must_use]
    pub fn detached(&self) -> u64 {
        self.0.get()
    }
}

impl<S> Layer<S> for DetachLayer {
    type Service = Detach<S>;

    fn layer(&self, inner: S) -> Detach<S> {
        Detach { inner, count: self.0.clone() }
    }
}

/// The service of a [`DetachLayer`].
#[derive(Debug, Clone)]
pub struct Detach<S> {
    inner: S,
    count: Arc<Counter>,
}

impl<S, R> Service<R> for Detach<S>
where
    S: Service<R, Future: Send + 'static, Response: Send + 'static, Error: Send + 'static>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Detached<Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let budget = current().unwrap_or_else(|| Budget::new(Duration::MAX));
        let task = tokio::spawn(scope(budget, self.inner.call(request)));
        Detached { task, count: self.count.clone() }
    }
}

/// The future of a [`Detach`].
#[derive(Debug)]
pub struct Detached<T> {
    task: JoinHandle<T>,
    count: Arc<Counter>,
}

impl<T> Future for Detached<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match ready!(Pin::new(&mut self.task).poll(cx)) {
            Ok(output) => Poll::Ready(output),
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            // The runtime shuts down, and this task with it.
            Err(_) => Poll::Pending,
        }
    }
}

impl<T> Drop for Detached<T> {
    fn drop(&mut self) {
        if !self.task.is_finished() {
            self.count.add_one();
        }
    }
}
