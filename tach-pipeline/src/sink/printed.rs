//! A writer that prints, for tests.

use std::io;

use super::{Sink, kind};

impl Sink {
    /// Prints each write as `print!` does, so that `cargo test` captures it: the output of a test
    /// that builds the pipeline is shown only if the test fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let guard = Pipeline::builder().sink(Sink::test()).filter("debug").build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn test() -> Sink<kind::Stream> {
        Self::writer("test", Printed)
    }
}

/// Prints what it is given. A thread inherits the capture of the test that starts it.
struct Printed;

impl io::Write for Printed {
    #[expect(clippy::print_stdout, reason = "only what is printed so is captured by tests")]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        print!("{}", String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
