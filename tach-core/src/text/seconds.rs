//! Durations as seconds with nine decimals, `   1.000000042s`, for uptimes in logs.

use core::time::Duration;

use crate::text::digits::{write_at_end, write_padded};

/// The longest text: 20 digits of seconds.
const MAX_LEN: usize = "18446744073709551615.999999999s".len();
/// The point, nine digits and the unit.
const FRACTION_LEN: usize = ".999999999s".len();
/// The width to which seconds are padded with blanks.
const SECONDS_WIDTH: usize = 4;

/// Calls `f` with the text of `duration`: seconds, padded to four characters, and nanoseconds.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::adapter::seconds;
///
/// let text = seconds::with_text(Duration::from_millis(42_007), str::to_owned);
/// assert_eq!(text, "  42.007000000s");
/// ```
#[inline]
pub fn with_text<R>(duration: Duration, f: impl FnOnce(&str) -> R) -> R {
    let mut text = [b' '; MAX_LEN];
    let start = write(&mut text, duration);
    f(core::str::from_utf8(&text[start..]).unwrap_or_default()) // All of it is ASCII.
}

/// Writes the text to the end of `text` and returns where it starts.
fn write(text: &mut [u8; MAX_LEN], duration: Duration) -> usize {
    let (seconds_text, fraction) = text.split_at_mut(MAX_LEN - FRACTION_LEN);
    fraction[0] = b'.';
    write_padded(&mut fraction[1..10], duration.subsec_nanos());
    fraction[10] = b's';

    write_at_end(seconds_text, duration.as_secs()).min(seconds_text.len() - SECONDS_WIDTH)
}

#[cfg(all(test, not(tach_same_arithmetic)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_text_fits() {
        let text = with_text(Duration::MAX, str::to_owned);
        assert_eq!(text, "18446744073709551615.999999999s");
    }

    proptest! {
        #[test]
        fn text_is_that_of_format(bits in 0..64, seed: u64, nanos in 0..1_000_000_000_u32) {
            let duration = Duration::new(seed >> bits, nanos);
            let expected = format!("{:4}.{:09}s", duration.as_secs(), nanos);
            prop_assert_eq!(with_text(duration, str::to_owned), expected);
        }
    }
}
