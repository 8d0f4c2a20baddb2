//! Parses any bytes by every syntax, and writes the result.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run header -- -max_total_time=600`, in `tach-tower`.

#![no_main]

use core::time::Duration;

use http::HeaderValue;
use libfuzzer_sys::fuzz_target;
use tach_core::UnixTime;
use tach_tower::Syntax;

const ALL: [Syntax; 6] = [
    Syntax::Grpc,
    Syntax::Millis,
    Syntax::Seconds,
    Syntax::Rfc3339,
    Syntax::UnixSeconds,
    Syntax::UnixMillis,
];

/// The first eight bytes are the time of day, the others a header's value.
fuzz_target!(|input: &[u8]| {
    let Some((now, value)) = input.split_first_chunk::<8>() else { return };
    let now = UnixTime::from_nanos(u64::from_le_bytes(*now));
    for syntax in ALL {
        let Some(left) = syntax.parse(value, now) else { continue };
        // No value that a header can't hold is valid.
        assert!(value.is_ascii() && HeaderValue::from_bytes(value).is_ok());
        let written = syntax.write(left, now);
        let read = syntax.parse(written.as_bytes(), now).unwrap();
        assert!(read <= left, "{syntax:?}: {left:?} grew to {read:?}");
        // The written value is short enough to be exact from then on, as long as it can be written.
        let again = syntax.write(read, now);
        if syntax != Syntax::Rfc3339 || now.checked_add(left).is_some() {
            let lost = read - syntax.parse(again.as_bytes(), now).unwrap();
            assert!(lost <= Duration::from_millis(1), "{syntax:?}: {read:?} lost {lost:?}");
        }
    }
});
