//! Linux's statements on the counter.

use core::ffi::CStr;

use super::file::read_line;
use super::{CLOCKSOURCE_BYTES, KernelView};

const CURRENT: &CStr = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &CStr = c"/sys/devices/system/clocksource/clocksource0/available_clocksource";

pub(crate) fn kernel_view(buffer: &mut [u8; CLOCKSOURCE_BYTES]) -> KernelView<'_> {
    clocksources(buffer, CURRENT, AVAILABLE)
}

/// Reads the current and the available clocksources from the files at these paths.
fn clocksources<'a>(
    buffer: &'a mut [u8; CLOCKSOURCE_BYTES],
    current: &CStr,
    available: &CStr,
) -> KernelView<'a> {
    let (first, second) = buffer.split_at_mut(CLOCKSOURCE_BYTES / 2);
    let current = read_line(current, first);
    // If the kernel uses the TSC, the other clocksources don't matter. Not reading the second file
    // shortens the start of a process.
    let available = if current == Some("tsc") { current } else { read_line(available, second) };
    KernelView { current, available }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{MISSING, fixture};
    use super::*;

    #[test]
    fn the_clocksources_are_read_from_the_files() {
        let (_tsc, tsc) = fixture(b"tsc\n");
        let (_kvm, kvm) = fixture(b"kvm-clock\n");
        let (_all, all) = fixture(b"kvm-clock tsc acpi_pm \n");
        let cases: [(&CStr, &CStr, _); 5] = [
            (&kvm, &all, (Some("kvm-clock"), Some("kvm-clock tsc acpi_pm"))),
            (&kvm, MISSING, (Some("kvm-clock"), None)),
            (MISSING, &all, (None, Some("kvm-clock tsc acpi_pm"))),
            (MISSING, MISSING, (None, None)),
            // If the current clocksource is the TSC, the other file is not read.
            (&tsc, MISSING, (Some("tsc"), Some("tsc"))),
        ];
        for (current, available, expected) in cases {
            let buffer = &mut [0; CLOCKSOURCE_BYTES];
            let found = clocksources(buffer, current, available);
            assert_eq!((found.current, found.available), expected, "{current:?}, {available:?}");
        }
    }
}
