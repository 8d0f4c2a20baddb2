//! Text on the stack: only the header's own value is allocated.

use core::fmt;

use http::HeaderValue;

/// The longest value: 20 digits of seconds and a fraction, or a time by RFC 3339.
const CAPACITY: usize = 40;

#[derive(Debug)]
pub(crate) struct Text {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self { bytes: [0; CAPACITY], len: 0 }
    }
}

impl Text {
    /// Returns the text as a value. The syntaxes write nothing that a header can't hold.
    pub(crate) fn into_value(self) -> HeaderValue {
        let text = self.bytes.get(..self.len).unwrap_or_default();
        HeaderValue::from_bytes(text).unwrap_or(const { HeaderValue::from_static("") })
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let rest = self.bytes.get_mut(self.len..).unwrap_or_default();
        rest.get_mut(..s.len()).ok_or(fmt::Error)?.copy_from_slice(s.as_bytes());
        self.len += s.len();
        Ok(())
    }
}
