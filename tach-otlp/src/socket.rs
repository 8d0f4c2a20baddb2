//! A socket whose operations end at a deadline.

mod connect;

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// A socket. All reads and writes for one operation of TLS share the deadline.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    pub(crate) deadline: Instant,
    /// Whether a read waits for bytes.
    pub(crate) reads_wait: bool,
}

impl Socket {
    /// Connects to the first of a host's addresses that answers.
    ///
    /// # Errors
    ///
    /// Returns the last address's error if none answers by the deadline.
    pub(crate) fn open(addresses: &[SocketAddr], deadline: Instant) -> io::Result<Self> {
        let stream = connect::first(addresses, deadline)?;
        // The whole request is ready, so the system need not wait for more bytes.
        stream.set_nodelay(true)?;
        Ok(Self { stream, deadline, reads_wait: true })
    }

    /// Returns whether the connection is open and silent, as a connection between two requests is.
    pub(crate) fn is_idle(&self) -> bool {
        let byte = self.at_once(|stream| stream.peek(&mut [0]));
        byte.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Performs one operation without blocking. All other operations of the socket block.
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

    #[cfg(feature = "grpc")]
    pub(crate) fn wait_for_bytes(&self) -> io::Result<()> {
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
