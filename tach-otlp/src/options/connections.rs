//! The connections of an exporter, which signals share.

use http::uri::{Authority, Scheme};
use ureq::{Agent, Proxy};

use crate::security::Files;

#[derive(Default)]
pub(crate) struct Connections {
    pub(crate) http: Shared<Agent>,
    #[cfg(feature = "grpc")]
    pub(crate) grpc: Shared<std::sync::Arc<crate::grpc::Server>>,
}

/// A server, with the certificates and the proxy by which it is reached.
#[derive(PartialEq)]
pub(crate) struct Means {
    pub(crate) origin: (Option<Scheme>, Option<Authority>),
    pub(crate) proxy: Option<Proxy>,
    pub(crate) files: Files,
}

/// The connections, one for each combination of server, certificates and proxy.
pub(crate) struct Shared<C>(Vec<(Means, C)>);

impl<C: Clone> Shared<C> {
    /// Returns the connection by these means, which `open` creates for the first signal.
    pub(crate) fn of(&mut self, means: Means, open: impl FnOnce() -> C) -> C {
        if let Some((_, known)) = self.0.iter().find(|(known, _)| *known == means) {
            return known.clone();
        }
        let opened = open();
        self.0.push((means, opened.clone()));
        opened
    }
}

impl<C> Default for Shared<C> {
    fn default() -> Self {
        Self(Vec::new())
    }
}
