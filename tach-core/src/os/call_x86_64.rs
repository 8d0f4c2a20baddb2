//! `clock_gettime` by the instruction of `x86_64`.
#![expect(unsafe_code, reason = "makes a system call")]

use core::arch::asm;

use libc::{c_long, clockid_t, timespec};

/// Makes the call (syscall(2), "Architecture calling conventions"). Returns 0, or a negative error.
pub(super) fn clock_gettime(clock: clockid_t, time: &mut timespec) -> c_long {
    let answer;
    // SAFETY: the kernel writes one timespec to the pointer, and changes these three registers.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_clock_gettime => answer,
            in("rdi") c_long::from(clock),
            in("rsi") core::ptr::from_mut(time),
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    answer
}
