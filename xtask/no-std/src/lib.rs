//! A program without std that uses tach-core.
//!
//! It has its own panic handler. If tach-core linked std, there would be two, and the compiler
//! would refuse the program.
#![no_std]

use core::panic::PanicInfo;

use tach_core::{Instant, status, unix_nanos};

#[unsafe(no_mangle)]
pub extern "C" fn use_the_clock() -> u64 {
    let start = Instant::now();
    let syncs = status().realtime.syncs;
    unix_nanos() + u64::from(syncs) + u64::from(start.elapsed().subsec_nanos())
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}
