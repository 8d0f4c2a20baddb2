//! What only Unix offers.

use core::time::Duration;
use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use rustix::pipe::PIPE_BUF;

use tach_core::adapter;

/// Whether a file that was opened can be told from another one at its path.
pub(crate) const HAS_IDENTITIES: bool = true;

/// What a stream of the system is.
pub use std::os::fd::AsFd as Stream;

/// Writes to a stream without the lock and the buffer of the standard library.
pub(crate) fn write(stream: &mut impl Stream, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::io::write(stream, bytes)?)
}

/// Returns how many bytes of one write stay together, without other writers' bytes between them:
/// few in a pipe, and all in everything else.
pub(crate) fn most_together(stream: &impl Stream) -> usize {
    let is_pipe = |status: Stat| FileType::from_raw_mode(status.st_mode).is_fifo();
    if rustix::fs::fstat(stream).is_ok_and(is_pipe) { PIPE_BUF } else { usize::MAX }
}

/// Returns whether systemd has connected a standard stream to its journal.
///
/// `JOURNAL_STREAM` has the connection's device and inode. A child with another stream inherits the
/// variable, so its presence alone proves nothing (systemd.exec(5)).
pub fn is_journal(stream: &impl Stream) -> bool {
    let Some(named) = adapter::variable("JOURNAL_STREAM") else { return false };
    rustix::fs::fstat(stream).is_ok_and(|it| named == *format!("{}:{}", it.st_dev, it.st_ino))
}

/// Returns whether a short line can be written without waiting, now or within `timeout`.
pub(crate) fn has_room(stream: &impl AsFd, timeout: Duration) -> bool {
    let mut polled = [PollFd::new(stream, PollFlags::OUT)];
    let start = Instant::now();
    loop {
        let left = Timespec::try_from(timeout.saturating_sub(start.elapsed())).ok();
        match rustix::event::poll(&mut polled, left.as_ref()) {
            Ok(ready) => return ready > 0,
            // A signal handler ran.
            Err(Errno::INTR) => {}
            // A stream that can't be polled counts as ready.
            Err(_) => return true,
        }
    }
}

/// A socket for datagrams at a path.
#[cfg(feature = "syslog")]
pub(crate) use std::os::unix::net::UnixDatagram as Datagram;

/// The socket of the syslog daemon on this machine.
#[cfg(feature = "syslog")]
pub(crate) const SYSLOG: &str =
    if cfg!(target_vendor = "apple") { "/var/run/syslog" } else { "/dev/log" };

/// Returns whether a message is too long for a datagram.
#[cfg(feature = "syslog")]
pub(crate) fn is_too_long(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::MSGSIZE)
}

/// Returns whether the queue of a socket is full. Some systems report that, while others wait for
/// room.
#[cfg(feature = "syslog")]
pub(crate) fn is_full(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::NOBUFS)
}
