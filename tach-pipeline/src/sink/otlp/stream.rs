//! A connection to the collector, with TLS or without, whose operations end at a deadline.

use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Instant;

#[cfg(feature = "otlp-tls")]
use super::tls::{Secured, Tls};

/// Where the collector is.
pub(super) struct Server {
    /// The host, without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
    /// `None` for a plain connection.
    #[cfg(feature = "otlp-tls")]
    pub(super) tls: Option<Tls>,
}

/// A connection.
pub(super) enum Stream {
    Plain(Socket),
    #[cfg(feature = "otlp-tls")]
    Secured(Box<Secured>),
}

impl Stream {
    /// Connects, and agrees on the keys of TLS.
    ///
    /// # Errors
    ///
    /// If the server can't be reached by the deadline, or is not the one that was meant.
    pub(super) fn open(server: &Server, deadline: Instant) -> io::Result<Self> {
        let socket = Socket::open(&server.host, server.port, deadline)?;
        #[cfg(feature = "otlp-tls")]
        if let Some(tls) = &server.tls {
            return tls.secure(socket).map(|secured| Self::Secured(Box::new(secured)));
        }
        Ok(Self::Plain(socket))
    }

    /// Sets when the following operations must end.
    pub(super) fn set_deadline(&mut self, deadline: Instant) {
        match self {
            Self::Plain(socket) => socket.deadline = deadline,
            #[cfg(feature = "otlp-tls")]
            Self::Secured(secured) => secured.socket().deadline = deadline,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(to),
            #[cfg(feature = "otlp-tls")]
            Self::Secured(secured) => secured.read(to),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            #[cfg(feature = "otlp-tls")]
            Self::Secured(secured) => secured.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            #[cfg(feature = "otlp-tls")]
            Self::Secured(secured) => secured.flush(),
        }
    }
}

/// A socket. What TLS reads and writes in one operation of its own ends at the deadline too.
pub(super) struct Socket {
    stream: TcpStream,
    pub(super) deadline: Instant,
}

impl Socket {
    fn open(host: &str, port: u16, deadline: Instant) -> io::Result<Self> {
        let mut last = None;
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left(deadline)?) {
                Ok(stream) => {
                    // The whole request is there, so there is nothing to gather.
                    stream.set_nodelay(true)?;
                    return Ok(Self { stream, deadline });
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::Error::other("the host has no address")))
    }
}

impl Read for Socket {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        uninterrupted(|| {
            self.stream.set_read_timeout(Some(left(self.deadline)?))?;
            self.stream.read(to)
        })
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        uninterrupted(|| {
            self.stream.set_write_timeout(Some(left(self.deadline)?))?;
            self.stream.write(bytes)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the time to the deadline.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Calls `f` until it is not interrupted. A timeout of the socket is an error, and no reason to
/// wait longer.
fn uninterrupted<R>(mut f: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match f() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            result => return result,
        }
    }
}
