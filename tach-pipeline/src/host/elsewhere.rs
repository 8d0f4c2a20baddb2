//! In place of what Unix has of its own.

use core::time::Duration;
use std::io;

use crate::host::unlocked::Unlocked;

impl<S: io::Write> io::Write for Unlocked<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// What a stream of the system is.
pub(crate) use io::Write as Stream;

/// Returns the most there is: no write is known to be divided here.
pub(crate) fn most_together(_: &impl Stream) -> usize {
    usize::MAX
}

/// Returns `false`: systemd is on Linux alone.
pub(crate) fn is_journal(_: &impl Stream) -> bool {
    false
}

/// Returns `true`: what a stream has room for is not known here.
pub(crate) fn has_room<S>(_: &S, _: Duration) -> bool {
    true
}
