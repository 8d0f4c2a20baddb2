//! The standard streams without the locks of the standard library.
//!
//! A thread that holds `io::stderr().lock()` and logs may wait for the back end, which must not wait for that
//! lock in turn. And a forked process may have a copy of it which was locked by a thread that it has not.

use std::io;

/// A standard stream, written to without a lock or a buffer.
///
/// On Unix; elsewhere as the standard library writes to it.
pub(crate) struct Unlocked<S>(pub(crate) S);

#[cfg(unix)]
impl<S: io::Write + std::os::fd::AsFd> io::Write for Unlocked<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.0, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(not(unix))]
impl<S: io::Write> io::Write for Unlocked<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Tells a line on stderr. That stderr can't be written to has nobody to be told to.
pub(crate) fn tell(line: core::fmt::Arguments<'_>) {
    let line = format!("tach-pipeline: {line}\n");
    let _best_effort = io::Write::write_all(&mut Unlocked(io::stderr()), line.as_bytes());
}
