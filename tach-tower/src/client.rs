//! The layer around a client.

#[cfg(feature = "reqwest")]
mod reqwest;

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use http::{Request, Response};
use tower_service::Service;

use crate::body::{BoxError, BudgetBody};
use crate::current::current;
use crate::future::ResponseFuture;
use crate::grpc;
use crate::layer::{BudgetLayer, BudgetService};
use crate::settings::Settings;
use crate::side::Side;

/// The side of a [`BudgetLayer`] around a client.
///
/// # Examples
///
/// ```
/// use tach_tower::{BudgetLayer, Client, Settings};
///
/// let layer: BudgetLayer<Client> = BudgetLayer::client(Settings::new());
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Client {}

impl BudgetLayer<Client> {
    /// Creates a layer around a client of hyper, tonic or reqwest that announces the time left for
    /// a call, and ends the call with it.
    ///
    /// The call's budget is a part of the budget in the request's extensions, or else of the
    /// [`current`](crate::current()) one. A header that the request has already is a limit, too.
    /// When the inner client is called, the time left for the response with its body is written
    /// into all headers. If nothing limits a call, it is passed on as it is.
    ///
    /// If the budget ends, the inner future is dropped and the call fails with an
    /// [`Exhausted`](crate::Exhausted). A gRPC request is answered with the status 4,
    /// `DEADLINE_EXCEEDED`, instead, so that a client of tonic sees that code. The response's body
    /// [ends](BudgetBody) with the budget, too.
    ///
    /// # Retries and hedges
    ///
    /// Inside `tower::retry` or `tower::hedge`, each attempt gets the time that its budget has left
    /// then, and fails at once if none is. A default, a cap and the request's own header count for
    /// each attempt. Around them the layer ends the whole call, also between two attempts. Use it
    /// twice for both, and give the reserve to the outer one only. A policy asks
    /// [`current`](crate::current()) whether a retry has time to succeed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use std::time::Duration;
    /// use http::{Request, Response};
    /// use tach_tower::{Budget, BudgetLayer, REQUEST_TIMEOUT, Settings, scope};
    /// use tower::{ServiceBuilder, ServiceExt, service_fn};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// // Stands for a client of hyper or a channel of tonic.
    /// let client = service_fn(|request: Request<String>| async move {
    ///     assert!(request.headers().contains_key(REQUEST_TIMEOUT));
    ///     Ok::<_, Infallible>(Response::new(String::new()))
    /// });
    /// let client = ServiceBuilder::new()
    ///     .layer(BudgetLayer::client(Settings::new().reserve(Duration::from_millis(10))))
    ///     .service(client);
    ///
    /// let budget = Budget::new(Duration::from_secs(1));
    /// scope(budget, client.oneshot(Request::new(String::new()))).await.unwrap();
    /// # }
    /// ```
    #[must_use]
    pub fn client(settings: Settings) -> Self {
        Self::new(settings, "client")
    }
}

impl<S, Q, B> Service<Request<Q>> for BudgetService<S, Client>
where
    S: Service<Request<Q>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = Response<BudgetBody<B>>;
    type Error = BoxError;
    type Future = ResponseFuture<S, Request<Q>, Client>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        let settings = &self.shared.settings;
        // The version says nothing: the client chooses the protocol.
        let is_grpc = grpc::is_content(request.headers());
        let asked = settings.asked(request.headers(), is_grpc, &self.shared.counts);
        let cap = settings.cap_of(request.method(), request.uri().path(), request.headers());
        let own = request.extensions().get().copied();
        let limits = settings.start(asked, cap, own.or_else(current));
        // Also for a client behind a `tower::buffer`, which calls it in a task of its own.
        request.extensions_mut().insert(limits.budget);
        let is_sent = Client::announce(settings, limits.whole, &mut request, is_grpc);
        self.send(request, limits, is_grpc, is_sent)
    }
}

impl<Q> Side<Request<Q>> for Client {
    fn announce(
        settings: &Settings,
        left: Duration,
        request: &mut Request<Q>,
        is_grpc: bool,
    ) -> bool {
        settings.write(left, request.headers_mut(), is_grpc)
    }
}

impl<S, Q, B> Future for ResponseFuture<S, Request<Q>, Client>
where
    S: Service<Request<Q>, Response = Response<B>>,
    S::Error: Into<BoxError>,
{
    type Output = Result<Response<BudgetBody<B>>, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let is_grpc = self.is_grpc;
        let exhausted = match ready!(self.as_mut().poll_result(cx)) {
            Some(Ok(response)) => return Poll::Ready(Ok(self.limit(response))),
            Some(Err(error)) => match self.failed(error) {
                Ok(error) => return Poll::Ready(Err(error.into())),
                Err(exhausted) => exhausted,
            },
            None => self.exhausted().0,
        };
        Poll::Ready(if is_grpc {
            Ok(grpc::response(&exhausted).map(BudgetBody::own))
        } else {
            Err(exhausted.into())
        })
    }
}
