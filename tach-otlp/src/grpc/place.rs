//! The address of the collector, and how a connection to it is made.

use std::io;
use std::net::ToSocketAddrs as _;
use std::time::Instant;

use crate::security::stream::{Secure, Stream};
use crate::socket::Socket;

/// The address of the collector.
pub(super) struct Place {
    /// The host, without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
    /// `None` for a plain connection.
    pub(super) secure: Option<Secure>,
}

impl Place {
    /// Connects, and agrees on the keys of TLS.
    ///
    /// # Errors
    ///
    /// If the server can't be reached by the deadline, or its certificate is not valid.
    pub(super) fn open(&self, deadline: Instant) -> io::Result<Box<dyn Stream>> {
        let addresses: Vec<_> = (&*self.host, self.port).to_socket_addrs()?.collect();
        let socket = Socket::open(&addresses, deadline)?;
        match &self.secure {
            Some(secure) => secure(socket),
            None => Ok(Box::new(socket)),
        }
    }
}
