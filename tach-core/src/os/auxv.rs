//! The kernel's word on privileges, from the auxiliary vector.
#![expect(unsafe_code, reason = "calls getauxval")]

/// Covers set-user-ID and set-group-ID programs, capabilities of the file, and security modules
/// (getauxval(3), `AT_SECURE`).
pub(crate) fn has_more_privileges_than_caller() -> bool {
    // SAFETY: the call takes and returns no pointer. A missing entry is 0.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
