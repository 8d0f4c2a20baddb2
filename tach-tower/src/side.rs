//! The difference between servers and clients.

use bytes::Bytes;
use http::Response;

use crate::exhausted::Exhausted;
use crate::settings::Settings;

/// A side of the network, for services whose error is `E`. Sealed: the module is private.
pub trait Side<E> {
    /// The error of the service with budgets.
    type Error;

    /// Whether the inner service is told how much time is left.
    const IS_CLIENT: bool;

    /// Converts an error of the inner service.
    fn error(error: E) -> Self::Error;

    /// Returns the result of an exhausted request that does not speak gRPC.
    fn ended(exhausted: Exhausted, settings: &Settings) -> Result<Response<Bytes>, Self::Error>;
}
