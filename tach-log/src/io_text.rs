//! Text that goes to an [`io::Write`].

use core::fmt;
use std::io;

/// Writes text to `target` by `write`, then a line end.
///
/// # Errors
///
/// Those of `target`.
pub(crate) fn write_line<W: io::Write + ?Sized>(
    target: &mut W,
    write: impl FnOnce(&mut IoText<'_, W>) -> fmt::Result,
) -> io::Result<()> {
    let mut text = IoText { target, error: None };
    match write(&mut text).and_then(|()| fmt::Write::write_str(&mut text, "\n")) {
        Ok(()) => Ok(()),
        Err(fmt::Error) => Err(text.error.unwrap_or_else(|| io::Error::other("formatter error"))),
    }
}

/// A target of bytes as one of text, which keeps the error that `fmt` has no room for.
pub(crate) struct IoText<'a, W: ?Sized> {
    target: &'a mut W,
    error: Option<io::Error>,
}

impl<W: io::Write + ?Sized> fmt::Write for IoText<'_, W> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.target.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}
