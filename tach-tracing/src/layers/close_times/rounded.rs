//! Durations as tracing-subscriber prints them.

use core::fmt;
use core::time::Duration;

/// A duration that prints as `12.3µs`: three digits, in the largest unit that it reaches.
pub(super) struct Rounded(pub(super) Duration);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SMALLER_UNITS: [&str; 3] = ["ns", "µs", "ms"];
        #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
        let mut value = u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX) as f64;
        for unit in SMALLER_UNITS {
            if value < 1000.0 {
                return write_rounded(value, unit, f);
            }
            value /= 1000.0;
        }
        write_rounded(value, "s", f)
    }
}

fn write_rounded(value: f64, unit: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let decimals = match value {
        ..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    write!(f, "{value:.decimals$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_printed() {
        let cases = [
            (0, "0.00ns"),
            (7, "7.00ns"),
            (10, "10.0ns"),
            (42, "42.0ns"),
            (100, "100ns"),
            (999, "999ns"),
            (1_000, "1.00µs"),
            (1_234, "1.23µs"),
            (12_345, "12.3µs"),
            (123_456, "123µs"),
            (999_999, "1000µs"),
            (1_000_000, "1.00ms"),
            (59_990_000_000, "60.0s"),
            (1_000_000_000_000, "1000s"),
            (86_400_000_000_000, "86400s"),
        ];
        for (ns, text) in cases {
            assert_eq!(Rounded(Duration::from_nanos(ns)).to_string(), text, "{ns}");
        }
    }
}
