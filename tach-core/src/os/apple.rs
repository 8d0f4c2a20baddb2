//! What Apple's kernel says of the counter.

use super::{CLOCKSOURCE_BYTES, KernelView};

/// The kernel's own time is `mach_absolute_time`, and so is that of the standard library.
pub(crate) fn kernel_view(_: &mut [u8; CLOCKSOURCE_BYTES]) -> KernelView<'_> {
    KernelView { current: Some("mach_absolute_time"), available: None }
}
