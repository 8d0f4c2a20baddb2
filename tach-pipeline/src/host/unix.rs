//! What Unix has of its own.

use std::io;
use std::os::fd::AsFd;

use crate::host::unlocked::Unlocked;

impl<S: io::Write + AsFd> io::Write for Unlocked<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.0, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the name of the machine.
#[cfg(feature = "syslog")]
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
