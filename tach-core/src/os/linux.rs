//! What Linux says of the counter.
#![expect(unsafe_code, reason = "calls prctl")]

use core::ffi::{CStr, c_int, c_ulong};

use super::file::read_line;
use super::{CLOCKSOURCE_BYTES, KernelView};

const CURRENT: &CStr = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &CStr = c"/sys/devices/system/clocksource/clocksource0/available_clocksource";

pub(crate) fn kernel_view(buffer: &mut [u8; CLOCKSOURCE_BYTES]) -> KernelView<'_> {
    let (current, available) = clocksources(buffer, CURRENT, AVAILABLE);
    KernelView {
        counter_readable: counter_readable(),
        has_monotonic_clock: true,
        current,
        available,
    }
}

/// The current and the available clocksources, as the files at these paths name them.
fn clocksources<'a>(
    buffer: &'a mut [u8; CLOCKSOURCE_BYTES],
    current: &CStr,
    available: &CStr,
) -> (Option<&'a str>, Option<&'a str>) {
    let (first, second) = buffer.split_at_mut(CLOCKSOURCE_BYTES / 2);
    let current = read_line(current, first);
    // A kernel on its CPU's counter needs no other: a file less to read at the start of a process.
    let available = if current == Some("tsc") { current } else { read_line(available, second) };
    (current, available)
}

/// Whether the counter may be read here: a process that had it disabled gets SIGSEGV (prctl(2)), on x86 and
/// on newer kernels for `AArch64`.
fn counter_readable() -> bool {
    let mut mode: c_int = 0;
    // SAFETY: PR_GET_TSC writes one int to the pointer in its second argument.
    let answer = unsafe { libc::prctl(libc::PR_GET_TSC, (&raw mut mode) as c_ulong) };
    // The call fails where the architecture has no such switch: reading is then always allowed.
    answer != 0 || mode == libc::PR_TSC_ENABLE
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Fixture, missing};
    use super::*;

    fn check(current: &CStr, available: &CStr, expected: (Option<&str>, Option<&str>)) {
        let buffer = &mut [0; CLOCKSOURCE_BYTES];
        let found = clocksources(buffer, current, available);
        assert_eq!(found, expected, "{current:?}, {available:?}");
    }

    #[test]
    fn the_clocksources_are_what_the_files_say() {
        let current = Fixture::new(b"kvm-clock\n");
        let available = Fixture::new(b"kvm-clock tsc acpi_pm \n");
        let expected = (Some("kvm-clock"), Some("kvm-clock tsc acpi_pm"));
        check(current.path(), available.path(), expected);
    }

    #[test]
    fn a_kernel_on_the_counter_is_asked_once() {
        let current = Fixture::new(b"tsc\n");
        check(current.path(), missing(), (Some("tsc"), Some("tsc")));
    }

    #[test]
    fn each_file_can_fail_alone() {
        let good = Fixture::new(b"hpet\n");
        let long = Fixture::new(&[b'x'; CLOCKSOURCE_BYTES]);
        let [empty, garbage] = [Fixture::new(b""), Fixture::new(b"\xff\x00\xfe")];
        for bad in [missing(), empty.path(), garbage.path(), long.path()] {
            check(bad, good.path(), (None, Some("hpet")));
            check(good.path(), bad, (Some("hpet"), None));
            check(bad, bad, (None, None));
        }
    }
}
