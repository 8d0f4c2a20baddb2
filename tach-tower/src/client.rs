//! The layer around a client.

#[cfg(feature = "reqwest")]
mod reqwest;

use bytes::Bytes;
use http::Response;

use crate::body::BoxError;
use crate::exhausted::Exhausted;
use crate::layer::BudgetLayer;
use crate::settings::Settings;
use crate::side::Side;

/// The side of a [`BudgetLayer`] around a client.
///
/// # Examples
///
/// ```
/// use tach_tower::{BudgetLayer, ClientSide, Settings};
///
/// let layer: BudgetLayer<ClientSide> = BudgetLayer::client(Settings::new());
/// ```
#[derive(Debug, Clone, Copy)]
pub enum ClientSide {}

impl BudgetLayer<ClientSide> {
    /// Creates a layer around a client of hyper, tonic or reqwest that announces the time left for
    /// a call, and ends the call with it.
    ///
    /// The call's budget is a part of the budget in the request's extensions, or else of the
    /// [`current`](crate::current()) one. A header that the request has already is a limit.
    /// When the inner client is called, the time left for the response with its body is written
    /// into all headers. Without a limit, no header is written.
    ///
    /// If the budget ends, the inner future is dropped and the call fails with an
    /// [`Exhausted`](crate::Exhausted). A gRPC request is answered with the status 4,
    /// `DEADLINE_EXCEEDED`, instead: a client of tonic sees that code. The response's body
    /// [ends](crate::BudgetBody) with the budget, too.
    ///
    /// A call ends with the request of the handler that makes it, and the request's layer answers.
    /// If the client's own timer or the peer ends the call within 2 ms of that end (an eighth of a
    /// short budget), or too little time is left to begin, the call waits for the layer, up to 5 ms
    /// past the end. So a handler that maps errors to 502 does not hide the 504. A call in another
    /// task, which the handler spawns with [`scope`](crate::scope()) or
    /// [`DetachLayer`](crate::DetachLayer) does, waits up to 50 ms. Below 8 ms, a peer's rounded
    /// header may end a call sooner: as an error.
    ///
    /// # Retries and hedges
    ///
    /// Inside `tower::retry` or `tower::hedge`, each attempt gets and announces the time that its
    /// budget has left then, and fails at once if none is. A default, a cap and the request's own
    /// header count for each attempt. Around them the layer ends the whole call, also between two
    /// attempts, but each attempt announces the time of the first: around a retry, give it the
    /// policy of `BudgetLayer::retry` (feature `retry`), which announces what is left, and begins
    /// no pause that does not fit. Around a hedge, use the layer twice, and give the reserve to the
    /// outer one only.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use std::time::Duration;
    /// use http::{Request, Response};
    /// use tach_tower::{Budget, BudgetLayer, Settings, scope};
    /// use tower::{ServiceBuilder, ServiceExt, service_fn};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// // Stands for a client of hyper or a channel of tonic.
    /// let client = service_fn(|request: Request<String>| async move {
    ///     assert!(request.headers().contains_key("request-timeout"));
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
        Self::new(settings)
    }
}

impl<E: Into<BoxError>> Side<E> for ClientSide {
    type Error = BoxError;

    const IS_CLIENT: bool = true;

    #[inline]
    fn error(error: E) -> BoxError {
        error.into()
    }

    fn ended(exhausted: Exhausted, _: &Settings) -> Result<Response<Bytes>, BoxError> {
        Err(exhausted.into())
    }
}
