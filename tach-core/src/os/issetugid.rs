//! The system's word on privileges (issetugid(2)).
#![expect(unsafe_code, reason = "calls issetugid")]

use core::ffi::c_int;

// Declared here, since libc declares the function for only some of these systems.
unsafe extern "C" {
    safe fn issetugid() -> c_int;
}

/// On FreeBSD and macOS also true for a process that has changed its own ids.
pub(crate) fn has_more_privileges_than_caller() -> bool {
    issetugid() != 0
}
