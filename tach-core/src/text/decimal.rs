//! Whole numbers as text, for Unix times and ticks in logs.

use crate::text::digits::write_at_end;

/// The longest text.
const MAX_LEN: usize = "18446744073709551615".len();

/// Calls `f` with the digits of `number`.
///
/// # Cost
///
/// Half a division a digit. No allocation.
///
/// # Examples
///
/// ```
/// use tach_core::{UnixTime, adapter::decimal};
///
/// let mut line = String::new();
/// decimal::with_text(UnixTime::EPOCH.as_millis(), |text| line.push_str(text));
/// assert_eq!(line, "0");
/// ```
#[inline]
pub fn with_text<R>(number: u64, f: impl FnOnce(&str) -> R) -> R {
    let mut text = [0; MAX_LEN];
    let start = write_at_end(&mut text, number);
    f(core::str::from_utf8(&text[start..]).unwrap_or_default()) // All of it is ASCII.
}

#[cfg(all(test, not(tach_same_arithmetic)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_text_fits() {
        assert_eq!(with_text(u64::MAX, str::to_owned), "18446744073709551615");
        assert_eq!(with_text(0, str::to_owned), "0");
    }

    proptest! {
        #[test]
        fn text_is_that_of_format(bits in 0..64, seed: u64) {
            let number = seed >> bits;
            prop_assert_eq!(with_text(number, str::to_owned), number.to_string());
        }
    }
}
