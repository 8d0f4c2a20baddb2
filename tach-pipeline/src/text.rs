//! Text at the end of a buffer of bytes.

use core::fmt;

use tach_log::adapter::{Sink, Utf8};

pub(crate) struct Text<'a>(pub(crate) &'a mut Vec<u8>);

impl fmt::Write for Text<'_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl Sink for Text<'_> {
    #[inline]
    fn write_utf8(&mut self, text: Utf8<'_>) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
