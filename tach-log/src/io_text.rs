//! Text that goes to an [`io::Write`].

use core::fmt;
use std::io;

use crate::encode::{Sink, Utf8};

/// Bytes that are gathered before they are handed on: a line is usually shorter, and so one write.
const ROOM: usize = 512;

/// Writes text to `target` by `write`, then a line end.
///
/// # Errors
///
/// Those of `target`.
pub(crate) fn write_line<W: io::Write + ?Sized>(
    target: &mut W,
    write: impl FnOnce(&mut IoText<'_, W>) -> fmt::Result,
) -> io::Result<()> {
    let mut text = IoText { target, gathered: [0; ROOM], len: 0, result: Ok(()) };
    // What fails says so in `result`.
    let _ = write(&mut text).and_then(|()| fmt::Write::write_str(&mut text, "\n"));
    text.hand_on();
    text.result
}

/// A target of bytes as one of text, which gathers small writes, and keeps the error that `fmt` has no room
/// for.
pub(crate) struct IoText<'a, W: ?Sized> {
    target: &'a mut W,
    gathered: [u8; ROOM],
    len: usize,
    /// How writing to the target went. After an error nothing more is written there.
    result: io::Result<()>,
}

impl<W: io::Write + ?Sized> IoText<'_, W> {
    /// Hands on what was gathered.
    fn hand_on(&mut self) {
        if self.result.is_ok() {
            self.result = self.target.write_all(&self.gathered[..self.len]);
        }
        self.len = 0;
    }

    /// Takes what does not fit beside what was gathered.
    #[inline(never)]
    fn take_more(&mut self, text: &[u8]) -> fmt::Result {
        self.hand_on();
        if text.len() < ROOM {
            self.gathered[..text.len()].copy_from_slice(text);
            self.len = text.len();
        } else if self.result.is_ok() {
            self.result = self.target.write_all(text);
        }
        self.result.as_ref().map_err(|_| fmt::Error).copied()
    }
}

impl<W: io::Write + ?Sized> fmt::Write for IoText<'_, W> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_utf8(text.into())
    }
}

impl<W: io::Write + ?Sized> Sink for IoText<'_, W> {
    #[inline]
    fn write_utf8(&mut self, text: Utf8<'_>) -> fmt::Result {
        let text = text.as_bytes();
        let end = self.len + text.len();
        let Some(free) = self.gathered.get_mut(self.len..end) else { return self.take_more(text) };
        free.copy_from_slice(text);
        self.len = end;
        Ok(())
    }
}
