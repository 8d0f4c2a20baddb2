//! The connections of `ureq`, over the same socket as those of gRPC.

use std::io::{self, Read as _, Write as _};
use std::time::Instant;

use http::Uri;
use ureq::config::Config;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectProxyConnector, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout,
    Transport,
};
use ureq::{Error, Timeout};

use crate::socket::Socket;

/// Returns what makes connections: by a proxy or directly, with TLS or without. `resolver` looks up
/// the host of each connection, so the agent's own is [`Later`].
pub(super) fn connector(resolver: impl Resolver) -> impl Connector {
    let connector = ().chain(ConnectProxyConnector::default()).chain(Direct { resolver });
    #[cfg(feature = "tls")]
    let connector = connector.chain(ureq::unversioned::transport::RustlsConnector::default());
    connector
}

/// Looks up no address. `ureq` asks before each request, and starts a thread for it, though the
/// connection of the last request needs no address.
///
/// `ureq` expects an address or an error. It reads the addresses only in the connectors. The
/// connectors before [`Direct`] read them only for a proxy with `resolve_target`, which no HTTP
/// proxy has.
#[derive(Debug)]
pub(super) struct Later;

impl Resolver for Later {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

/// Makes a direct connection, unless an earlier connector has connected through a proxy.
#[derive(Debug)]
struct Direct<R> {
    resolver: R,
}

impl<In: Transport, R: Resolver> Connector<In> for Direct<R> {
    type Out = Either<In, Plain>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        if let Some(chained) = chained {
            return Ok(Some(Either::A(chained)));
        }
        let deadline = deadline(details.timeout)?;
        let addresses = self.resolver.resolve(details.uri, details.config, details.timeout)?;
        let socket = Socket::open(&addresses, deadline)
            .map_err(|error| explained(error, details.timeout.reason))?;
        let (input, output) =
            (details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Either::B(Plain { socket, buffers: LazyBuffers::new(input, output) })))
    }
}

#[derive(Debug)]
struct Plain {
    socket: Socket,
    buffers: LazyBuffers,
}

impl Transport for Plain {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.socket.deadline = deadline(timeout)?;
        let written = self.socket.write_all(&self.buffers.output()[..amount]);
        written.map_err(|error| explained(error, timeout.reason))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.socket.deadline = deadline(timeout)?;
        let count = self.socket.read(self.buffers.input_append_buf());
        let count = count.map_err(|error| explained(error, timeout.reason))?;
        self.buffers.input_appended(count);
        Ok(count > 0)
    }

    fn is_open(&mut self) -> bool {
        self.socket.is_idle()
    }
}

/// Returns the end of a timeout, which each request has.
fn deadline(timeout: NextTimeout) -> Result<Instant, Error> {
    let end = Instant::now().checked_add(*timeout.after);
    end.filter(|_| !timeout.after.is_zero()).ok_or(Error::Timeout(timeout.reason))
}

fn explained(error: io::Error, reason: Timeout) -> Error {
    if error.kind() == io::ErrorKind::TimedOut { Error::Timeout(reason) } else { error.into() }
}
