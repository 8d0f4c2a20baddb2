//! The hot paths as separate functions, so that `cargo xtask codegen` can read their assembly.

use core::time::Duration;

use tach_core::{BootInstant, Instant, MonotonicInstant, unix_nanos};

#[unsafe(no_mangle)]
pub fn instant_now() -> Instant {
    Instant::now()
}

#[unsafe(no_mangle)]
pub fn instant_elapsed(start: Instant) -> Duration {
    start.elapsed()
}

#[unsafe(no_mangle)]
pub fn monotonic_elapsed(start: MonotonicInstant) -> Duration {
    start.elapsed()
}

#[unsafe(no_mangle)]
pub fn monotonic_now() -> MonotonicInstant {
    MonotonicInstant::now()
}

#[unsafe(no_mangle)]
pub fn unix_now() -> u64 {
    unix_nanos()
}

#[unsafe(no_mangle)]
pub fn boot_now() -> Option<BootInstant> {
    BootInstant::now()
}

/// Needs a lock prefix and a call: the positive control.
#[unsafe(no_mangle)]
pub fn control(shared: &core::sync::atomic::AtomicU64, text: &mut dyn core::fmt::Write) {
    shared.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
    let _ = text.write_str("text");
}
