//! A call of a service that ends with a budget. The server's and the client's layer share it.

use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tach_core::Budget;
use tower_service::Service;

use crate::current::Entered;
use crate::timer::Alarm;

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
    pub(crate) fn call<R>(&mut self, request: R, budget: Budget) -> Call<S, R>
    where
        S: Service<R> + Clone,
    {
        let state = if mem::take(&mut self.is_ready) {
            let _entered = Entered::new(budget);
            State::Running { future: self.inner.call(request) }
        } else {
            // The one that has begun to wait keeps its place in the queue.
            let next = self.inner.clone();
            let service = mem::replace(&mut self.inner, next);
            State::Waiting { waiting: Box::new((service, Some(request))) }
        };
        Call { state, budget, alarm: Alarm::default() }
    }

    /// Creates a call that is over. The inner service gives up its reservations for it, such as a
    /// permit.
    #[cold]
    pub(crate) fn refuse<R>(&mut self, budget: Budget) -> Call<S, R>
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

pin_project! {
    pub(crate) struct Call<S, R>
    where
        S: Service<R>,
    {
        #[pin]
        state: State<S, R, S::Future>,
        budget: Budget,
        alarm: Alarm,
    }
}

pin_project! {
    #[project = StateNow]
    enum State<S, R, F> {
        // Boxed, since few calls wait, and all futures would be as large as a request.
        Waiting { waiting: Box<(S, Option<R>)> },
        Running {
            #[pin]
            future: F,
        },
        Over,
    }
}

impl<S: Service<R>, R> Call<S, R> {
    #[inline]
    pub(crate) fn budget(&self) -> Budget {
        self.budget
    }

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
                StateNow::Waiting { waiting } => {
                    let (service, request) = &mut **waiting;
                    match service.poll_ready(cx) {
                        Poll::Pending => break,
                        Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                        Poll::Ready(Ok(())) => request.take().map(|request| service.call(request)),
                    }
                }
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
