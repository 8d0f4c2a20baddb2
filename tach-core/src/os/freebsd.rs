//! FreeBSD's statements on the counter.
#![expect(unsafe_code, reason = "calls sysctlbyname")]

use core::ffi::CStr;
use core::ptr;

use super::{CLOCKSOURCE_BYTES, KernelView};

const TIMECOUNTER: &CStr = c"kern.timecounter.hardware";

pub(crate) fn kernel_view(buffer: &mut [u8; CLOCKSOURCE_BYTES]) -> KernelView<'_> {
    let mut len = buffer.len();
    // SAFETY: the pointers are valid for the name, for `len` bytes and for the length. Without a
    // new value the call only reads.
    let answer = unsafe {
        libc::sysctlbyname(
            TIMECOUNTER.as_ptr(),
            buffer.as_mut_ptr().cast(),
            &raw mut len,
            ptr::null(),
            0,
        )
    };
    let name = if answer == 0 { CStr::from_bytes_until_nul(buffer).ok() } else { None };
    let current = name.and_then(|name| name.to_str().ok()).map(clocksource);
    KernelView { current, available: None }
}

/// Returns Linux's name for a timecounter. `TSC-low` is the TSC, shifted to fit 32 bits
/// (timecounters(4)).
fn clocksource(timecounter: &str) -> &str {
    match timecounter {
        "TSC" | "TSC-low" => "tsc",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::clocksource;

    #[test]
    fn both_timecounters_of_the_tsc_are_known() {
        let names = ["TSC", "TSC-low", "HPET"].map(clocksource);
        assert_eq!(names, ["tsc", "tsc", "HPET"]);
    }
}
