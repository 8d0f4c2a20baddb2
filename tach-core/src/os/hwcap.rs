//! The CPU's extensions, from the kernel's auxiliary vector.
#![expect(unsafe_code, reason = "calls getauxval")]

pub(crate) fn cpu_capabilities() -> u64 {
    // SAFETY: the call takes and returns no pointer. A missing entry is 0.
    unsafe { libc::getauxval(libc::AT_HWCAP2) }
}
