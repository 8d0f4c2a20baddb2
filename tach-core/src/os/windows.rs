//! Windows's clocks, and its statements on the counter.
#![expect(unsafe_code, reason = "calls Windows for its clocks, reads KUSER_SHARED_DATA")]

use core::ptr;

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::SystemInformation::GetSystemTimePreciseAsFileTime;

use super::{CLOCKSOURCE_BYTES, KernelView};
use crate::sync::{AtomicU64, Ordering};

const NS_PER_S: u64 = 1_000_000_000;

/// Reads the clock behind `std::time::Instant`.
pub(crate) fn monotonic_ns() -> Option<u64> {
    let mut count = 0;
    // SAFETY: the pointer is valid for an i64. Since Windows XP the call can't fail.
    unsafe {
        QueryPerformanceCounter(&raw mut count);
    }
    let (count, per_s) = (count.unsigned_abs(), frequency_hz());
    // In two parts, since the whole product would overflow after half an hour.
    let (s, rest) = (count / per_s, count % per_s);
    s.checked_mul(NS_PER_S)?.checked_add(rest * NS_PER_S / per_s)
}

/// Reads the same clock, which also runs while the system sleeps.
pub(crate) fn boot_ns() -> Option<u64> {
    monotonic_ns()
}

/// Returns the counter's frequency: at most some GHz, so that a second's count times a billion fits
/// in `u64`.
fn frequency_hz() -> u64 {
    static FREQUENCY_HZ: AtomicU64 = AtomicU64::new(0);
    // ORDERING: Relaxed. The value publishes nothing else, and all threads store the same.
    let known = FREQUENCY_HZ.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let mut hz = 0;
    // SAFETY: the pointer is valid for an i64. Since Windows XP the call can't fail.
    unsafe {
        QueryPerformanceFrequency(&raw mut hz);
    }
    let hz = hz.unsigned_abs().max(1);
    // ORDERING: Relaxed. The value publishes nothing else, and all threads store the same.
    FREQUENCY_HZ.store(hz, Ordering::Relaxed);
    hz
}

pub(crate) fn resolution_ns() -> u64 {
    NS_PER_S.div_ceil(frequency_hz())
}

pub(crate) fn realtime_resolution_ns() -> u64 {
    resolution_ns().max(SYSTEM_TIME_STEP_NS)
}

/// The unit of file times, which a `SystemTime` counts in.
const SYSTEM_TIME_STEP_NS: u64 = 100;

pub(crate) fn realtime_ns() -> Option<u64> {
    /// File times from 1601-01-01, their epoch, to 1970-01-01.
    const EPOCH: u64 = 116_444_736_000_000_000;
    let mut time = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    // SAFETY: the pointer is valid for one FILETIME.
    unsafe {
        GetSystemTimePreciseAsFileTime(&raw mut time);
    }
    let since_1601 = u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    since_1601.checked_sub(EPOCH)?.checked_mul(SYSTEM_TIME_STEP_NS)
}

pub(crate) fn kernel_view(_: &mut [u8; CLOCKSOURCE_BYTES]) -> KernelView<'_> {
    /// `KUSER_SHARED_DATA.QpcBypassEnabled` (ntddk.h), at an address that Windows maps into every
    /// process.
    const QPC_BYPASS_ENABLED: usize = 0x7ffe_03c6;
    // SAFETY: the page is mapped and readable in every process. The byte changes at most when the
    // system starts.
    let flags = unsafe { ptr::with_exposed_provenance::<u8>(QPC_BYPASS_ENABLED).read_volatile() };
    KernelView { current: Some(clocksource(flags)), available: Some("tsc") }
}

/// Returns Linux's name for the clock that `QueryPerformanceCounter` reads.
fn clocksource(qpc_bypass: u8) -> &'static str {
    /// User space reads the TSC, without a system call.
    const ENABLED: u8 = 0x01;
    /// The TSC is scaled by the hypervisor's page.
    const USE_HYPERVISOR_PAGE: u8 = 0x02;
    match (qpc_bypass & ENABLED != 0, qpc_bypass & USE_HYPERVISOR_PAGE != 0) {
        (false, _) => "qpc",
        (true, false) => "tsc",
        (true, true) => "hyperv_clocksource_tsc_page",
    }
}

#[cfg(test)]
mod tests {
    use super::clocksource;

    #[test]
    fn the_bypass_flags_name_the_clock_that_windows_reads() {
        let names = [0x00, 0x02, 0x80, 0x01, 0x81, 0x03, 0x83].map(clocksource);
        let page = "hyperv_clocksource_tsc_page";
        assert_eq!(names, ["qpc", "qpc", "qpc", "tsc", "tsc", page, page]);
    }
}
