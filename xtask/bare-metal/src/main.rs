//! A program without an OS that supplies its own clock: tach-core works if it links.
#![no_std]
#![no_main]

use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU64, Ordering};

use tach_core::{Instant, UnixTime, supply_clock};

fn timer_ns() -> u64 {
    static TIMER_NS: AtomicU64 = AtomicU64::new(0);
    // ORDERING: Relaxed. The number publishes nothing else.
    TIMER_NS.fetch_add(1000, Ordering::Relaxed)
}

supply_clock!(timer_ns, || 0);

#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    let start = Instant::now();
    while start.elapsed().is_zero() || UnixTime::now() < UnixTime::EPOCH {}
    loop {}
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}
