//! The protocol below the requests.

use super::client::Client;
#[cfg(feature = "otlp-grpc")]
use super::grpc;
use super::verdict::{Rejection, judge};

/// A client of the collector.
pub(super) enum Transport {
    Http(Client),
    #[cfg(feature = "otlp-grpc")]
    Grpc(Box<grpc::Client>),
}

impl Transport {
    /// Sends a request, and returns whether its records were accepted.
    pub(super) fn send(&mut self, request: &[u8]) -> Result<(), Rejection> {
        match self {
            Self::Http(client) => match client.post(request) {
                Ok(answer) => judge(&answer),
                Err(error) => Err(Rejection::Later(error, None)),
            },
            #[cfg(feature = "otlp-grpc")]
            Self::Grpc(client) => client.call(request),
        }
    }
}
