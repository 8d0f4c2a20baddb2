//! A call of a service that ends with a budget. The server's and the client's layer share it.

use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::sync::Arc;

use pin_project_lite::pin_project;
use tach_core::Budget;
use tower_service::Service;

use crate::current::Entered;
use crate::timer::Alarm;

/// The rules by which a layer calls its inner service.
pub(crate) trait Rules<R> {
    /// Returns whether too little time is left for a call.
    fn refuses(&self, left: Duration) -> bool;

    /// Writes into a request that is sent now how much time is left, also for the second time.
    fn announce(&self, left: Duration, request: &mut R);
}

/// A service that is always ready: the call waits for the inner service, so waiting counts, and a
/// call that is refused takes nothing of the inner service.
#[derive(Debug)]
pub(crate) struct Waits<S> {
    inner: S,
    is_ready: bool,
}

impl<S: Clone> Clone for Waits<S> {
    fn clone(&self) -> Self {
        // A clone of a ready service need not be ready.
        Self::new(self.inner.clone())
    }
}

impl<S> Waits<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self { inner, is_ready: false }
    }

    #[inline]
    pub(crate) fn poll_ready<R>(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>>
    where
        S: Service<R>,
    {
        if !self.is_ready {
            match self.inner.poll_ready(cx) {
                Poll::Ready(result) => result?,
                Poll::Pending => return Poll::Ready(Ok(())),
            }
            self.is_ready = true;
        }
        Poll::Ready(Ok(()))
    }

    #[expect(
        clippy::inline_always,
        reason = "otherwise a response or a request is copied once more"
    )]
    #[inline(always)]
    pub(crate) fn call<R, P>(&mut self, request: R, budget: Budget, rules: &Arc<P>) -> Call<S, R, P>
    where
        S: Service<R> + Clone,
        P: Rules<R>,
    {
        let state = if mem::take(&mut self.is_ready) {
            let _entered = Entered::new(budget);
            State::Running { future: self.inner.call(request) }
        } else {
            // The service that has begun to wait goes into the future, so it keeps its place in the
            // queue.
            let next = self.inner.clone();
            let service = mem::replace(&mut self.inner, next);
            let waiting = Waiting { service, request: Some(request), rules: rules.clone() };
            State::Waiting { waiting: Box::new(waiting) }
        };
        Call { state, budget, alarm: Alarm::default() }
    }

    /// Creates a call that is over. The inner service gives up its reservations for it, such as a
    /// permit.
    #[cold]
    pub(crate) fn refuse<R, P>(&mut self, budget: Budget) -> Call<S, R, P>
    where
        S: Service<R> + Clone,
    {
        if mem::take(&mut self.is_ready) {
            // Only dropping a service makes it give up a reservation.
            self.inner = self.inner.clone();
        }
        Call { state: State::Over, budget, alarm: Alarm::default() }
    }
}

/// A request that waits for the service.
struct Waiting<S, R, P> {
    service: S,
    /// `None` once it is sent.
    request: Option<R>,
    rules: Arc<P>,
}

pin_project! {
    pub(crate) struct Call<S, R, P>
    where
        S: Service<R>,
    {
        #[pin]
        state: State<S, R, P, S::Future>,
        budget: Budget,
        alarm: Alarm,
    }
}

pin_project! {
    #[project = StateNow]
    enum State<S, R, P, F> {
        // Boxed, since few calls wait, and all futures would be as large as a request.
        Waiting { waiting: Box<Waiting<S, R, P>> },
        Running {
            #[pin]
            future: F,
        },
        Over,
    }
}

impl<S: Service<R>, R, P: Rules<R>> Waiting<S, R, P> {
    /// Calls the service once it is ready. `Ok(None)` if too little time is left by then.
    fn poll_start(
        &mut self,
        budget: &Budget,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<S::Future>, S::Error>> {
        ready!(self.service.poll_ready(cx))?;
        let left = budget.remaining();
        let request = self.request.take().filter(|_| !self.rules.refuses(left));
        Poll::Ready(Ok(request.map(|mut request| {
            self.rules.announce(left, &mut request);
            self.service.call(request)
        })))
    }
}

impl<S: Service<R>, R, P> Call<S, R, P> {
    #[inline]
    pub(crate) fn budget(&self) -> Budget {
        self.budget
    }
}

impl<S: Service<R>, R, P: Rules<R>> Call<S, R, P> {
    /// Returns the result, or `None` if the budget ended first: then everything that the call held
    /// is dropped.
    ///
    /// A result that is ready is returned even if the budget is exhausted.
    #[expect(
        clippy::inline_always,
        reason = "otherwise a response or a request is copied once more"
    )]
    #[inline(always)]
    pub(crate) fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<S::Response, S::Error>>> {
        let mut this = self.project();
        let entered = Entered::new(*this.budget);
        loop {
            let called = match this.state.as_mut().project() {
                StateNow::Waiting { waiting } => match waiting.poll_start(this.budget, cx) {
                    Poll::Pending => break,
                    Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                    Poll::Ready(Ok(called)) => called,
                },
                StateNow::Running { future } => match future.poll(cx) {
                    Poll::Pending => break,
                    Poll::Ready(result) => return Poll::Ready(Some(result)),
                },
                StateNow::Over => return Poll::Ready(None),
            };
            this.state.set(called.map_or(State::Over, |future| State::Running { future }));
        }
        drop(entered);
        ready!(this.alarm.poll_end(this.budget, cx));
        // Others may wait for a resource that the inner future holds: drop it before the response.
        this.state.set(State::Over);
        Poll::Ready(None)
    }
}
