//! A fence in all threads, which only the thread that asks for it pays for.

#[cfg(all(target_os = "linux", not(all(test, loom))))]
use rustix::thread::{MembarrierCommand, membarrier};

/// Makes every thread of the process execute a fence. Returns false if the kernel refuses.
#[cfg(all(target_os = "linux", not(all(test, loom))))]
pub(crate) fn pass() -> bool {
    membarrier(MembarrierCommand::PrivateExpedited).is_ok()
}

/// Registers the process with the kernel, so that [`pass`] works. If the process has several
/// threads, that takes milliseconds, so a thread of its own waits for it.
#[cfg(all(target_os = "linux", not(all(test, loom))))]
pub(crate) fn set_up() {
    use std::sync::Once;
    use std::thread;

    static ASK: Once = Once::new();
    ASK.call_once(|| {
        let ask = || {
            let _refused = membarrier(MembarrierCommand::RegisterPrivateExpedited);
        };
        let _no_thread = thread::Builder::new().name("tach-barrier".to_owned()).spawn(ask);
    });
}

#[cfg(not(any(target_os = "linux", all(test, loom))))]
pub(crate) fn pass() -> bool {
    false
}

#[cfg(not(any(target_os = "linux", all(test, loom))))]
pub(crate) fn set_up() {}

/// Loom has no fence in other threads, so its models have one in each call.
#[cfg(all(test, loom))]
pub(crate) fn pass() -> bool {
    loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
    true
}

#[cfg(all(test, target_os = "linux", not(loom)))]
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
