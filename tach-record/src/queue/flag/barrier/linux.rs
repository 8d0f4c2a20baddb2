//! The barrier on Linux: the system call `membarrier`.

use std::sync::Once;

use rustix::thread::{MembarrierCommand, membarrier};

use crate::host;

static ASK: Once = Once::new();

/// Waits until each thread of the process has passed a barrier. Returns `false` if the kernel
/// can't do that.
pub(super) fn pass() -> bool {
    membarrier(MembarrierCommand::PrivateExpedited).is_ok()
}

/// Registers the process with the kernel. If the process has several threads, the registration
/// takes milliseconds, so a separate thread makes the call.
pub(super) fn set_up() {
    ASK.call_once(|| {
        let ask = || {
            let _refused = membarrier(MembarrierCommand::RegisterPrivateExpedited);
        };
        let _no_thread = host::spawn("tach-barrier", ask);
    });
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::thread;
    use std::time::Instant;

    use rustix::thread::{MembarrierQuery, membarrier_query};

    use super::*;

    #[test]
    fn linux_has_it() {
        if membarrier_query().contains(MembarrierQuery::PRIVATE_EXPEDITED) {
            set_up();
            let start = Instant::now();
            while !pass() {
                assert!(start.elapsed() < Duration::from_secs(60));
                thread::yield_now();
            }
        }
    }
}
