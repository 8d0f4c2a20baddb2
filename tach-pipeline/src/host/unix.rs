//! What Unix has of its own.

#[path = "signals.rs"]
pub(crate) mod signals;

use core::time::Duration;
use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::host::unlocked::Unlocked;

impl<S: io::Write + AsFd> io::Write for Unlocked<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.0, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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

/// Returns the name of the machine.
#[cfg(feature = "syslog")]
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
