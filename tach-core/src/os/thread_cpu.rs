//! The POSIX clock of the current thread's CPU time.

use libc::CLOCK_THREAD_CPUTIME_ID;

use super::unix;

pub(crate) fn thread_cpu_ns() -> Option<u64> {
    // This works even if the process may not read the counter: the vDSO passes this clock on to the
    // kernel.
    unix::read(CLOCK_THREAD_CPUTIME_ID)
}
