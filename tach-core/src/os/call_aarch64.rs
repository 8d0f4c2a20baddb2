//! `clock_gettime` by the instruction of `AArch64`.
#![expect(unsafe_code, reason = "makes a system call")]

use core::arch::asm;

use libc::{c_long, clockid_t, timespec};

/// Makes the call (syscall(2), "Architecture calling conventions"). Returns 0, or a negative error.
pub(super) fn clock_gettime(clock: clockid_t, time: &mut timespec) -> c_long {
    let answer;
    // SAFETY: the kernel writes one timespec to the pointer, and changes one register.
    unsafe {
        asm!(
            "svc 0",
            in("x8") libc::SYS_clock_gettime,
            inlateout("x0") c_long::from(clock) => answer,
            in("x1") core::ptr::from_mut(time),
            options(nostack),
        );
    }
    answer
}
