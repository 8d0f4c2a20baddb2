//! What Unix has of its own.

use core::time::Duration;
use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use rustix::pipe::PIPE_BUF;

use tach_core::adapter;

use crate::host::unlocked::Unlocked;

impl<S: io::Write + AsFd> io::Write for Unlocked<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.0, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a stream of the system is.
pub(crate) use std::os::fd::AsFd as Stream;

/// Returns how many bytes of one write no other writer's can stand within: a pipe keeps few
/// together, and everything else all.
pub(crate) fn most_together(stream: &impl Stream) -> usize {
    let is_pipe = |status: Stat| FileType::from_raw_mode(status.st_mode).is_fifo();
    if rustix::fs::fstat(stream).is_ok_and(is_pipe) { PIPE_BUF } else { usize::MAX }
}

/// Returns whether systemd has connected a standard stream to its journal.
///
/// `JOURNAL_STREAM` has the connection's device and inode. A child with another stream inherits the
/// variable, so its presence alone proves nothing (systemd.exec(5)).
pub(crate) fn is_journal(stream: &impl Stream) -> bool {
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
            // A stream that can't be polled is written.
            Err(_) => return true,
        }
    }
}
