//! A fence in all threads of the process. Only the thread that requests the fence pays for it.

#[cfg(all(target_os = "linux", not(all(test, loom))))]
mod linux;

/// Makes each thread of the process execute a fence. Returns `false` if the kernel refuses, or has
/// no such call.
pub fn pass() -> bool {
    #[cfg(all(target_os = "linux", not(all(test, loom))))]
    return linux::pass();
    // Loom can't model a fence in other threads, so in the models each call executes its own.
    #[cfg(all(test, loom))]
    crate::sync::atomic::fence(crate::sync::atomic::Ordering::SeqCst);
    #[cfg(not(all(target_os = "linux", not(all(test, loom)))))]
    cfg!(loom)
}

/// Prepares the process, so that [`pass`] works.
pub fn set_up() {
    #[cfg(all(target_os = "linux", not(all(test, loom))))]
    linux::set_up();
}
