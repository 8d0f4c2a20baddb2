//! Times by RFC 3339: what is read is written, and read again as the same.

use tach_core::{Offset, UnixTime};

pub(crate) fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(time) = text.parse::<UnixTime>() {
        assert_eq!(time.to_string().parse(), Ok(time), "{text}");
    }
    if let Ok(offset) = text.parse::<Offset>() {
        assert_eq!(offset.to_string().parse(), Ok(offset), "{text}");
    }
}
