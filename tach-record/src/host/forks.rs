//! Forks by the C library.
#![expect(unsafe_code, reason = "calls pthread_atfork")]

/// Makes the C library call `f` in each child of a `fork`. `f` must be async-signal-safe.
pub(crate) fn call_in_children(f: extern "C" fn()) {
    // SAFETY: the function takes no argument and lives as long as the process. Without memory for
    // the list, a child is taken for one that was made without the C library, and logs nothing.
    let _without = unsafe { libc::pthread_atfork(None, None, Some(f)) };
}
