//! The socket of a syslog daemon. The writer of the socket receives messages, each preceded by its
//! length and a space.

use core::fmt;
use core::net::SocketAddr;
use core::str;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _, UdpSocket};
use std::path::PathBuf;

use crate::faults::Faults;
use crate::os::{Datagram, is_full, is_too_long};
use crate::receiver::Receiver;

/// How long to wait for a connection to one address.
const CONNECT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "no method sets a path"))]
pub(crate) enum Address {
    Unix(PathBuf),
    Udp(String),
    Tcp(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "syslog at {}", path.display()),
            Self::Udp(address) => write!(f, "syslog at {address} (UDP)"),
            Self::Tcp(address) => write!(f, "syslog at {address} (TCP)"),
        }
    }
}

impl Address {
    /// Adds a fault unless the address consists of a host and a port. Does not look up the host.
    pub(crate) fn check(&self, faults: &mut Faults) {
        let (address, method) = match self {
            Self::Unix(_) => return,
            Self::Udp(address) => (address, "udp"),
            Self::Tcp(address) => (address, "tcp"),
        };
        let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port != 0);
        let parts = address.rsplit_once(':');
        let has_both = parts.is_some_and(|(host, port)| !host.is_empty() && is_port(port));
        let wanted = "an address is host:port, such as localhost:514, or [::1]:514";
        faults.unless(has_both, || format!("Syslog::{method}({address:?})"), wanted);
    }
}

pub(crate) struct Socket {
    address: Address,
    /// Opened at the first write, and again after a failure.
    connection: Option<Connection>,
}

impl Socket {
    pub(crate) const fn new(address: Address) -> Self {
        Self { address, connection: None }
    }
}

impl Receiver for Socket {
    fn write(&mut self, messages: &[u8]) -> io::Result<usize> {
        // If the daemon was restarted, the old connection fails, but a new one works at once.
        if let Some(mut old) = self.connection.take().filter(Connection::is_open) {
            match old.send(messages) {
                Ok(count) => {
                    self.connection = Some(old);
                    return Ok(count);
                }
                Err(error) if old.is_udp() => return Err(error),
                Err(_) => {}
            }
        }
        let mut new = Connection::open(&self.address)?;
        let count = new.send(messages)?;
        self.connection = Some(new);
        Ok(count)
    }

    fn again(&self) -> Option<Box<dyn Receiver>> {
        Some(Box::new(Self::new(self.address.clone())))
    }
}

enum Connection {
    Unix(Datagram),
    Udp(UdpSocket),
    Tcp(TcpStream),
}

impl Connection {
    fn open(address: &Address) -> io::Result<Self> {
        match address {
            Address::Unix(path) => {
                let socket = Datagram::unbound()?;
                socket.connect(path)?;
                Ok(Self::Unix(socket))
            }
            Address::Udp(address) => first_of(address, |address| {
                let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(any)?;
                socket.connect(address)?;
                Ok(Self::Udp(socket))
            }),
            Address::Tcp(address) => first_of(address, |address| {
                TcpStream::connect_timeout(&address, CONNECT).map(Self::Tcp)
            }),
        }
    }

    /// Returns `false` if the daemon has closed the connection: the next write would be lost.
    fn is_open(&self) -> bool {
        let Self::Tcp(stream) = self else { return true };
        let read = || {
            stream.set_nonblocking(true)?;
            // A syslog daemon never sends data, so a read finds either nothing or the end.
            let read = (&*stream).read(&mut [0; 64]);
            stream.set_nonblocking(false)?;
            read
        };
        match read() {
            Ok(count) => count > 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }

    const fn is_udp(&self) -> bool {
        matches!(self, Self::Udp(_))
    }

    /// Sends messages and returns how many of the bytes were sent. Over TCP a partial write is an
    /// error, since the next connection must not begin in the middle of a message.
    fn send(&mut self, messages: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(socket) => send_each(messages, |message| socket.send(message)),
            Self::Udp(socket) => send_each(messages, |message| send_udp(socket, message)),
            Self::Tcp(stream) => stream.write_all(messages).map(|()| messages.len()),
        }
    }
}

/// Calls `f` with each address of a `host:port` in turn, until a call succeeds.
fn first_of<R>(address: &str, f: impl FnMut(SocketAddr) -> io::Result<R>) -> io::Result<R> {
    let mut result = Err(io::Error::other("the host has no address"));
    for tried in address.to_socket_addrs()?.map(f) {
        result = tried;
        if result.is_ok() {
            break;
        }
    }
    result
}

/// Sends each message as a datagram. Returns the number of bytes of the messages that were sent. If
/// the first message fails, returns the error.
fn send_each(messages: &[u8], send: impl Fn(&[u8]) -> io::Result<usize>) -> io::Result<usize> {
    let mut rest = messages;
    while let Some((message, after)) = split(rest) {
        match send_cut(message, &send) {
            Ok(()) => rest = after,
            Err(_) if rest.len() < messages.len() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(messages.len() - rest.len())
}

/// Sends a datagram to a host that may have no daemon.
///
/// # Errors
///
/// If the host refuses the datagram and says so at once, as the machine itself does. A refusal that
/// comes later is the error of a later call, which sends nothing then.
fn send_udp(socket: &UdpSocket, message: &[u8]) -> io::Result<usize> {
    let sent = socket.send(message)?;
    match socket.take_error()? {
        Some(refused) => Err(refused),
        None => Ok(sent),
    }
}

/// Sends a message, or its beginning if it is too long for a datagram.
fn send_cut(message: &[u8], send: impl Fn(&[u8]) -> io::Result<usize>) -> io::Result<()> {
    let mut next = message;
    loop {
        match send(next) {
            Err(error) if is_too_long(&error) && !next.is_empty() => {
                next = beginning(next, next.len() / 4 * 3);
            }
            Err(error) if is_full(&error) => return Err(io::ErrorKind::WouldBlock.into()),
            result => return result.map(drop),
        }
    }
}

/// Returns the first `most` bytes of a message, or fewer so that no character is cut in two.
pub(crate) fn beginning(message: &[u8], mut most: usize) -> &[u8] {
    while message.get(most).is_some_and(|byte| byte & 0xc0 == 0x80) {
        most = most.saturating_sub(1);
    }
    message.get(..most).unwrap_or(message)
}

/// Splits off the first message, without its length. Returns the message and the rest.
fn split(messages: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = messages.iter().position(|&byte| byte == b' ')?;
    let length = str::from_utf8(&messages[..space]).ok()?.parse().ok()?;
    messages[space + 1..].split_at_checked(length)
}
