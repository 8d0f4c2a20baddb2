//! tach-core without a standard library in a JavaScript host: the functions that `check.cjs` calls.
#![no_std]

use core::arch::wasm32;
use core::panic::PanicInfo;

use dlmalloc::GlobalDlmalloc;
use tach_core::{Instant, MonotonicInstant, UnixTime};
use wasm_bindgen::prelude::wasm_bindgen;

#[global_allocator]
static HEAP: GlobalDlmalloc = GlobalDlmalloc;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    wasm32::unreachable()
}

/// Returns the milliseconds since 1970, with a fraction.
#[wasm_bindgen]
pub fn unix_ms() -> f64 {
    UnixTime::now().as_nanos() as f64 / 1e6
}

/// Returns the nanoseconds that a loop takes, or -1 if a clock went back.
#[wasm_bindgen]
pub fn loop_ns() -> f64 {
    let start = Instant::now();
    let mut last = MonotonicInstant::now();
    for _ in 0..100_000 {
        let next = MonotonicInstant::now();
        if next < last {
            return -1.0;
        }
        last = next;
    }
    start.elapsed().as_nanos() as f64
}
