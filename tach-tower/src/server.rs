//! The layer around a server's services.

use bytes::Bytes;
use http::{Response, StatusCode};

use crate::exhausted::Exhausted;
use crate::layer::BudgetLayer;
use crate::settings::Settings;
use crate::side::Side;

/// The side of a [`BudgetLayer`] around the services of a server.
///
/// # Examples
///
/// ```
/// use tach_tower::{BudgetLayer, ServerSide, Settings};
///
/// let layer: BudgetLayer<ServerSide> = BudgetLayer::server(Settings::new());
/// ```
#[derive(Debug, Clone, Copy)]
pub enum ServerSide {}

impl BudgetLayer<ServerSide> {
    /// Creates a layer that answers for the service when the budget of a request is exhausted:
    /// with 504 Gateway Timeout, or with the status 4, `DEADLINE_EXCEEDED`, if the request speaks
    /// gRPC. The extensions of that answer have the [`Exhausted`]. The response's body
    /// [ends](crate::BudgetBody) with the budget, too. An answer of the service that says that it
    /// failed, such as 502, is [replaced](crate::ResponseFuture) if it comes within the last 2 ms
    /// or later.
    ///
    /// The budget begins with the call. Time before it counts if the request's extensions hold a
    /// budget, such as one of [`Budget::since`](crate::Budget::since).
    ///
    /// The layer needs no type of tonic, and works also with gRPC-Web, inside and outside of
    /// tonic-web's layer. tonic's own server enforces `grpc-timeout` too, and answers `CANCELLED`.
    /// Its timer starts after the layer's, so the layer answers first, unless the handler blocks
    /// its thread past the budget's end.
    ///
    /// A client's call that ends resets its HTTP/2 stream. If many calls of one connection end
    /// together, a busy server takes that for an attack, and closes the connection: after 20 resets
    /// of streams that it has not accepted yet, or as many as tonic's
    /// `http2_max_pending_accept_reset_streams` says.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::{BudgetLayer, Settings};
    ///
    /// let layer = BudgetLayer::server(Settings::new().cap(Duration::from_secs(30)));
    /// ```
    #[must_use]
    pub fn server(settings: Settings) -> Self {
        Self::new(settings)
    }
}

impl<E> Side<E> for ServerSide {
    type Error = E;

    const IS_CLIENT: bool = false;

    #[inline]
    fn error(error: E) -> E {
        error
    }

    fn ended(exhausted: Exhausted, settings: &Settings) -> Result<Response<Bytes>, E> {
        if let Some(response) = &settings.response {
            return Ok((response.0)(&exhausted));
        }
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::GATEWAY_TIMEOUT;
        Ok(response)
    }
}
