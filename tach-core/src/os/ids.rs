//! Privileges by the ids of the user and of the group.
#![expect(unsafe_code, reason = "calls getuid and its siblings")]

pub(crate) fn has_more_privileges_than_caller() -> bool {
    // SAFETY: the call takes no argument, and can't fail.
    let user = unsafe { libc::getuid() };
    // SAFETY: the call takes no argument, and can't fail.
    let effective_user = unsafe { libc::geteuid() };
    // SAFETY: the call takes no argument, and can't fail.
    let group = unsafe { libc::getgid() };
    // SAFETY: the call takes no argument, and can't fail.
    let effective_group = unsafe { libc::getegid() };
    (user, group) != (effective_user, effective_group)
}
