//! The CPU's extensions by the kernel's auxiliary vector.
#![expect(unsafe_code, reason = "calls getauxval")]

pub(crate) fn cpu_capabilities() -> u64 {
    // SAFETY: no pointer goes in or out; an entry that is not there is 0.
    unsafe { libc::getauxval(libc::AT_HWCAP2) }
}
