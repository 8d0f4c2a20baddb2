//! The POSIX clock that also runs while the system sleeps.

use super::{BOOTTIME, read_clock};

pub(crate) fn boot_ns() -> Option<u64> {
    read_clock(BOOTTIME)
}
