//! The POSIX clock of the current thread's CPU time.

use libc::CLOCK_THREAD_CPUTIME_ID;

use super::unix;

pub(crate) fn thread_cpu_ns() -> Option<u64> {
    // The vDSO passes this clock on to the kernel and does not read the counter, which this process
    // may not be allowed to read.
    unix::read(CLOCK_THREAD_CPUTIME_ID)
}
