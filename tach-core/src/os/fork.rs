//! Calls in the children of a `fork`.
#![expect(unsafe_code, reason = "calls pthread_atfork")]

pub(crate) fn call_in_forked_children(f: extern "C" fn()) {
    // SAFETY: the function takes no argument, and lives as long as the process. If there is no
    // memory to register `f`, the children don't call it.
    let _without = unsafe { libc::pthread_atfork(None, None, Some(f)) };
}
