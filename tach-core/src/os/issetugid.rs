//! The system's word on privileges (issetugid(2)).
#![expect(unsafe_code, reason = "calls issetugid")]

pub(crate) fn has_more_privileges_than_caller() -> bool {
    // SAFETY: the call takes and returns no pointer, and can't fail.
    unsafe { libc::issetugid() != 0 }
}
