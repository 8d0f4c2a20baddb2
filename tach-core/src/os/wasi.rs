//! WASI's clocks, preview 1.
#![expect(unsafe_code, reason = "calls clock_time_get")]

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    /// Writes the time of a clock in ns. Returns 0 on success.
    fn clock_time_get(clock: u32, precision_ns: u64, time_ns: *mut u64) -> u16;

    /// Writes the resolution of a clock in ns. Returns 0 on success.
    fn clock_res_get(clock: u32, resolution_ns: *mut u64) -> u16;
}

const REALTIME: u32 = 0;
const MONOTONIC: u32 = 1;

pub(crate) fn monotonic_ns() -> Option<u64> {
    read(MONOTONIC)
}

pub(crate) fn realtime_ns() -> Option<u64> {
    read(REALTIME)
}

fn read(clock: u32) -> Option<u64> {
    let mut time_ns = 0;
    // SAFETY: the pointer is valid for a u64.
    let answer = unsafe { clock_time_get(clock, 1, &raw mut time_ns) };
    (answer == 0).then_some(time_ns)
}

pub(crate) fn resolution_ns() -> u64 {
    resolution(MONOTONIC)
}

pub(crate) fn realtime_resolution_ns() -> u64 {
    resolution(REALTIME)
}

fn resolution(clock: u32) -> u64 {
    let mut resolution_ns = 0;
    // SAFETY: the pointer is valid for a u64. A failed call leaves the resolution at zero.
    unsafe {
        clock_res_get(clock, &raw mut resolution_ns);
    }
    resolution_ns.max(1)
}
