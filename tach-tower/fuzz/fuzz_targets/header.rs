//! Parses any bytes by every syntax, and writes the result.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run header -- -max_total_time=600`, in `tach-tower`.

#![no_main]

use core::time::Duration;

use http::HeaderValue;
use libfuzzer_sys::fuzz_target;
use tach_tower::Syntax;

const ALL: [Syntax; 3] = [Syntax::Grpc, Syntax::Millis, Syntax::Seconds];

/// The first eight bytes are skipped: the inputs in the corpus begin with a time of day.
fuzz_target!(|input: &[u8]| {
    let Some((_, value)) = input.split_first_chunk::<8>() else { return };
    for syntax in ALL {
        let Some(left) = syntax.parse(value) else { continue };
        // A header can hold each valid value.
        assert!(value.is_ascii() && HeaderValue::from_bytes(value).is_ok());
        let read = syntax.parse(syntax.write(left).as_bytes()).unwrap();
        assert!(read <= left, "{syntax:?}: {left:?} grew to {read:?}");
        // A value that was written and read is short enough to stay exact when it is written again.
        let lost = read - syntax.parse(syntax.write(read).as_bytes()).unwrap();
        assert!(lost <= Duration::from_millis(1), "{syntax:?}: {read:?} lost {lost:?}");
    }
});
