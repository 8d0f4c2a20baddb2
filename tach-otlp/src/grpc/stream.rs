//! A connection to the collector, with TLS or without, whose operations end at a deadline.

use std::io::{self, Read, Write};
use std::net::ToSocketAddrs as _;
use std::time::Instant;

#[cfg(feature = "tls")]
use super::secured::{Secured, Tls};
use crate::socket::Socket;

/// The address of the collector, and the TLS options if the connection is secured.
pub(super) struct Place {
    /// The host, without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
    /// `None` for a plain connection.
    #[cfg(feature = "tls")]
    pub(super) tls: Option<Tls>,
}

/// A connection.
pub(super) enum Stream {
    Plain(Socket),
    #[cfg(feature = "tls")]
    Secured(Box<Secured>),
}

impl Stream {
    /// Connects, and agrees on the keys of TLS.
    ///
    /// # Errors
    ///
    /// If the server can't be reached by the deadline, or its certificate is not valid.
    pub(super) fn open(server: &Place, deadline: Instant) -> io::Result<Self> {
        let addresses: Vec<_> = (&*server.host, server.port).to_socket_addrs()?.collect();
        let socket = Socket::open(&addresses, deadline)?;
        #[cfg(feature = "tls")]
        if let Some(tls) = &server.tls {
            return Secured::open(tls, socket).map(|secured| Self::Secured(Box::new(secured)));
        }
        Ok(Self::Plain(socket))
    }

    /// Sets when the following operations must end.
    pub(super) fn set_deadline(&mut self, deadline: Instant) {
        self.socket().deadline = deadline;
    }

    fn socket(&mut self) -> &mut Socket {
        match self {
            Self::Plain(socket) => socket,
            #[cfg(feature = "tls")]
            Self::Secured(secured) => secured.socket(),
        }
    }

    /// Sets whether a read waits for bytes. If not, and there are none, it fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock).
    pub(super) fn have_reads_wait(&mut self, wait: bool) {
        self.socket().reads_wait = wait;
    }

    /// Waits until bytes arrive, or the end of the connection.
    ///
    /// # Errors
    ///
    /// If none arrive until the deadline.
    pub(super) fn wait_for_bytes(&mut self) -> io::Result<()> {
        self.socket().wait_for_bytes()
    }
}

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(to),
            #[cfg(feature = "tls")]
            Self::Secured(secured) => secured.read(to),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            #[cfg(feature = "tls")]
            Self::Secured(secured) => secured.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            #[cfg(feature = "tls")]
            Self::Secured(secured) => secured.flush(),
        }
    }
}
