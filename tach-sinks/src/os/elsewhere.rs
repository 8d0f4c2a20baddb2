//! Replacements for what only Unix offers.

use core::time::Duration;
use std::io;
#[cfg(feature = "syslog")]
use std::path::Path;

/// Whether a file that was opened can be told from another one at its path.
pub(crate) const HAS_IDENTITIES: bool = false;

/// What a stream of the system is.
pub use std::io::Write as Stream;

/// Writes to a stream.
pub(crate) fn write(stream: &mut impl Stream, bytes: &[u8]) -> io::Result<usize> {
    stream.write(bytes)
}

/// Returns the largest number, since no write is known to be divided here.
pub(crate) fn most_together<S>(_: &S) -> usize {
    usize::MAX
}

/// Returns `false`: systemd exists only on Linux.
pub fn is_journal(_: &impl Stream) -> bool {
    false
}

/// Returns `true`, since nothing shows here how much room a stream has.
pub(crate) fn has_room<S>(_: &S, _: Duration) -> bool {
    true
}

/// A socket for datagrams at a path, which does not exist here.
#[cfg(feature = "syslog")]
#[derive(Debug)]
pub(crate) enum Datagram {}

#[cfg(feature = "syslog")]
impl Datagram {
    pub(crate) fn unbound() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn connect(&self, _: &Path) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn send(&self, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }
}

/// Returns whether a message is too long for a datagram: the error `WSAEMSGSIZE`.
#[cfg(feature = "syslog")]
pub(crate) fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(10040)
}

/// Returns `false`: a socket waits for room here.
#[cfg(feature = "syslog")]
pub(crate) fn is_full(_: &io::Error) -> bool {
    false
}
