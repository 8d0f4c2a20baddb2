//! Filters that make the kernel kill a process for its system calls.
#![expect(unsafe_code, reason = "calls the BPF macros of libc")]

use core::ffi::{c_long, c_ulong};
use core::mem::offset_of;

use libc::sock_filter;

use super::interpose::real_prctl;

/// The system calls that open a file or ask for the process's state.
const OPENING: [c_long; 14] = [
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_creat,
    libc::SYS_prctl,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_stat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_memfd_create,
    libc::SYS_ioctl,
];

/// The system calls for allocating, printing the findings, and ending. The handler that simulates
/// the counter returns by one as well.
const ENDING: [c_long; 9] = [
    libc::SYS_rt_sigreturn,
    libc::SYS_write,
    libc::SYS_exit_group,
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigprocmask,
];

/// Makes the kernel kill this process if it opens a file or asks for its state.
pub(crate) fn kill_on_open() {
    install(&OPENING, libc::SECCOMP_RET_KILL_PROCESS, libc::SECCOMP_RET_ALLOW);
}

/// Makes the kernel kill this process for any system call not in [`ENDING`].
pub(crate) fn kill_on_any_call() {
    install(&ENDING, libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_KILL_PROCESS);
}

/// Installs a filter that returns `listed` for the calls in the list, and `other` for all others.
fn install(calls: &[c_long], listed: u32, other: u32) {
    let number = u32::try_from(offset_of!(libc::seccomp_data, nr)).expect("a small offset");
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, number)];
    for &call in calls {
        let call = u32::try_from(call).expect("a system call's number");
        program.push(skip_unless_equal(call));
        program.push(statement(libc::BPF_RET | libc::BPF_K, listed));
    }
    program.push(statement(libc::BPF_RET | libc::BPF_K, other));
    let length = u16::try_from(program.len()).expect("a short program");
    let filter = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    let no_privileges = real_prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    assert_eq!(no_privileges, 0, "a process may give up privileges");
    let mode = c_ulong::from(libc::SECCOMP_MODE_FILTER);
    let address = (&raw const filter).expose_provenance() as c_ulong;
    let installed = real_prctl(libc::PR_SET_SECCOMP, mode, address, 0, 0);
    assert_eq!(installed, 0, "the kernel has seccomp filters");
}

fn statement(code: u32, k: u32) -> sock_filter {
    // SAFETY: the function only puts its arguments into a struct.
    unsafe { libc::BPF_STMT(narrow(code), k) }
}

/// Returns an instruction that skips the next one unless the loaded number is `k`.
fn skip_unless_equal(k: u32) -> sock_filter {
    // SAFETY: the function only puts its arguments into a struct.
    unsafe { libc::BPF_JUMP(narrow(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K), k, 0, 1) }
}

fn narrow(code: u32) -> u16 {
    u16::try_from(code).expect("a BPF code")
}
