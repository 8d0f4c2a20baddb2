//! Bytes as text, where most are ASCII.
#![expect(unsafe_code, reason = "takes checked ASCII for UTF-8")]

use core::str;

/// Returns the bytes as text if they are valid UTF-8, as [`str::from_utf8`] does. Faster for short
/// ASCII: the standard library looks for longer characters from the first byte on.
///
/// # Examples
///
/// ```
/// use tach_core::adapter::utf8;
///
/// assert_eq!(utf8::text(b"text"), Some("text"));
/// assert_eq!(utf8::text(b"\xFF"), None);
/// ```
#[must_use]
#[inline]
pub fn text(bytes: &[u8]) -> Option<&str> {
    if bytes.is_ascii() {
        // SAFETY: ASCII is valid UTF-8.
        return Some(unsafe { str::from_utf8_unchecked(bytes) });
    }
    longer(bytes)
}

#[cold]
fn longer(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok()
}

#[cfg(all(test, not(tach_same_arithmetic)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_what_the_standard_library_says(
            bytes in prop::collection::vec(prop_oneof![0..=0x7F_u8, any::<u8>()], 0..20),
            valid in ".{0,20}",
        ) {
            prop_assert_eq!(text(&bytes), str::from_utf8(&bytes).ok());
            prop_assert_eq!(text(valid.as_bytes()), Some(&*valid));
        }
    }
}
