//! A call of the inner service, which may have to wait for it.

use core::mem;
use core::task::{Context, Poll, ready};
use std::sync::Arc;

use pin_project_lite::pin_project;
use tach_core::Budget;
use tower_service::Service;

use crate::settings::{Settings, ns};
use crate::shared::Shared;

/// A service that is always ready, and waits for the inner service within the call. So the wait is
/// a part of the budget, and a call that is refused takes nothing from the inner service.
#[derive(Debug)]
pub(crate) struct Waits<S> {
    pub(crate) inner: S,
    asked: Asked,
}

/// How far the inner service is for the next call. From `Pending` on, it may hold a permit or a
/// place in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    Pending,
    Ready,
}

impl<S: Clone> Clone for Waits<S> {
    fn clone(&self) -> Self {
        // Readiness belongs to one instance. A clone must be asked again.
        Self::new(self.inner.clone())
    }
}

impl<S> Waits<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self { inner, asked: Asked::Nothing }
    }

    #[inline]
    pub(crate) fn poll_ready<R>(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>>
    where
        S: Service<R>,
    {
        if self.asked != Asked::Ready {
            self.asked = Asked::Pending;
            if let Poll::Ready(result) = self.inner.poll_ready(cx) {
                result?;
                self.asked = Asked::Ready;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Returns whether the next call may begin at once. Each later call must ask again.
    #[inline]
    pub(crate) fn is_ready(&mut self) -> bool {
        mem::replace(&mut self.asked, Asked::Nothing) == Asked::Ready
    }

    /// Begins to wait for the inner service. The instance that has begun to wait moves into the
    /// call, and keeps its place in the queue. A clone replaces it.
    #[cold]
    pub(crate) fn wait<R>(&mut self, request: R, wait: Wait) -> Call<S, R>
    where
        S: Service<R> + Clone,
    {
        let next = self.inner.clone();
        let service = mem::replace(&mut self.inner, next);
        Call::Waiting { waiting: Box::new(Waiting { service, request: Some(request), wait }) }
    }

    /// Releases what the inner service holds for a call that is refused. A clone replaces the
    /// service, because only its drop releases a permit.
    #[cold]
    pub(crate) fn refuse(&mut self)
    where
        S: Clone,
    {
        if mem::replace(&mut self.asked, Asked::Nothing) != Asked::Nothing {
            self.inner = self.inner.clone();
        }
    }
}

/// A request that a client sends: of the crate `http`, or of reqwest. Sealed: the module is
/// private.
pub trait Sends {
    /// Returns the budget that a layer has put into the request.
    fn budget(&self) -> Option<Budget>;

    /// Writes the time left for the response and its body. Returns `false` if it would be written
    /// as zero.
    fn announce(&mut self, settings: &Settings, left_ns: u64) -> bool;
}

/// The data to send a call that waited.
pub(crate) struct Wait {
    pub(crate) shared: Arc<Shared>,
    /// The budget of the response with its body.
    pub(crate) whole: Budget,
    pub(crate) is_client: bool,
}

/// A request that waits for the service.
pub(crate) struct Waiting<S, R> {
    service: S,
    /// `None` once the service was called.
    request: Option<R>,
    wait: Wait,
}

pin_project! {
    #[project = CallNow]
    pub(crate) enum Call<S, R>
    where
        S: Service<R>,
    {
        // Boxed, because few calls wait. Otherwise each future would be as large as a request.
        Waiting { waiting: Box<Waiting<S, R>> },
        Running {
            #[pin]
            future: S::Future,
        },
    }
}

impl<S: Service<R>, R: Sends> Waiting<S, R> {
    /// Calls the service once it is ready. Returns `Ok(None)` if too little time is left then.
    pub(crate) fn poll_start(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<S::Future>, S::Error>> {
        ready!(self.service.poll_ready(cx))?;
        let Wait { shared, whole, is_client } = &self.wait;
        // The current budget is for the head of the response, and may end before `whole`, which
        // includes the body. If it is too short for the head, don't send the request.
        let left_ns = ns(crate::current().unwrap_or(*whole).remaining());
        let Some(mut request) = self.request.take() else { return Poll::Ready(Ok(None)) };
        let is_sent = !shared.settings.refuses(left_ns)
            && (!is_client || request.announce(&shared.settings, ns(whole.remaining())));
        Poll::Ready(Ok(is_sent.then(|| self.service.call(request))))
    }
}
