//! A connection to the collector, with TLS or without, whose operations end at a deadline.

use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Instant;

#[cfg(feature = "tls")]
use super::secured::{Secured, Tls};

/// Where the collector is.
pub(crate) struct Server {
    /// The host, without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// `None` for a plain connection.
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Tls>,
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
    /// If the server can't be reached by the deadline, or is not the one that was meant.
    pub(super) fn open(server: &Server, deadline: Instant) -> io::Result<Self> {
        let socket = Socket::open(&server.host, server.port, deadline)?;
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

/// A socket. What TLS reads and writes in one operation of its own ends at the deadline too.
pub(super) struct Socket {
    stream: TcpStream,
    deadline: Instant,
    reads_wait: bool,
}

impl Socket {
    fn open(host: &str, port: u16, deadline: Instant) -> io::Result<Self> {
        let addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
        let (mut last, mut untried) = (None, u32::try_from(addresses.len()).unwrap_or(u32::MAX));
        for address in addresses {
            // An address that nobody answers leaves time for the others.
            let time = left(deadline)? / untried;
            untried -= 1;
            match TcpStream::connect_timeout(&address, time) {
                Ok(stream) => {
                    // The whole request is there, so there is nothing to gather.
                    stream.set_nodelay(true)?;
                    return Ok(Self { stream, deadline, reads_wait: true });
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::Error::other("the host has no address")))
    }

    /// Does one operation without a wait. The socket blocks otherwise, so that writes wait.
    fn at_once(&self, mut f: impl FnMut(&TcpStream) -> io::Result<usize>) -> io::Result<usize> {
        self.stream.set_nonblocking(true)?;
        let done = loop {
            match f(&self.stream) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => break done,
            }
        };
        self.stream.set_nonblocking(false)?;
        done
    }

    fn wait_for_bytes(&self) -> io::Result<()> {
        uninterrupted(|| {
            self.stream.set_read_timeout(Some(left(self.deadline)?))?;
            self.stream.peek(&mut [0]).map(drop)
        })
    }

    /// Reads what has arrived, unless the deadline is over: a server may send without end.
    fn read_now(&self, to: &mut [u8]) -> io::Result<usize> {
        left(self.deadline)?;
        self.at_once(|mut stream| stream.read(to))
    }
}

impl Read for Socket {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if !self.reads_wait {
            return self.read_now(to);
        }
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
