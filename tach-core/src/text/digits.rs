//! Decimal digits, written in pairs from a table.

/// "00", "01" … "99".
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut i = 0;
    while i < 100 {
        #[expect(clippy::cast_possible_truncation, reason = "less than 10")]
        {
            pairs[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        }
        i += 1;
    }
    pairs
};

/// Fills `out` with the last `out.len()` digits of `value`, padded with zeros.
#[inline]
pub(crate) fn write_padded(out: &mut [u8], mut value: u32) {
    let (single, pairs) = out.split_at_mut(out.len() % 2);
    for pair in pairs.chunks_exact_mut(2).rev() {
        pair.copy_from_slice(&PAIRS[(value % 100) as usize]);
        value /= 100;
    }
    if let [digit] = single {
        *digit = PAIRS[(value % 10) as usize][1];
    }
}

/// Writes the digits of `value` to the end of `out`, and returns where they start. `out` must be
/// long enough.
#[inline]
pub(crate) fn write_at_end(out: &mut [u8], mut value: u64) -> usize {
    let mut start = out.len();
    while value >= 10 {
        start -= 2;
        out[start..start + 2].copy_from_slice(&PAIRS[(value % 100) as usize]);
        value /= 100;
    }
    // At most one digit is left. The number 0 has one digit.
    if value > 0 || start == out.len() {
        start -= 1;
        out[start] = PAIRS[(value % 10) as usize][1];
    }
    start
}

#[cfg(all(test, not(tach_same_arithmetic)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn digits_equal_the_formatted_ones(value: u32, width in 0_usize..=9) {
            let mut out = [b'x'; 9];
            write_padded(&mut out[..width], value);
            let expected = format!("{value:09}");
            prop_assert_eq!(&out[..width], &expected.as_bytes()[expected.len() - width..]);
        }
    }
}
