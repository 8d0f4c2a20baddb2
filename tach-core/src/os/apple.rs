//! The statements of Apple's kernel on the counter.

use super::{CLOCKSOURCE_BYTES, KernelView};

/// Returns `mach_absolute_time`, the clock of both the kernel and the standard library.
pub(crate) fn kernel_view(_: &mut [u8; CLOCKSOURCE_BYTES]) -> KernelView<'_> {
    KernelView { current: Some("mach_absolute_time"), available: None }
}
