//! The CPU time of a thread, which other load doesn't change.

use core::time::Duration;

/// Returns the CPU time of the calling thread, or on other systems than Unix the time that has
/// passed.
///
/// # Panics
///
/// If threads have no CPU time.
#[must_use]
pub fn thread_time() -> Duration {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid for a write.
        let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        assert_eq!(result, 0, "threads have no CPU time");
        let (seconds, ns) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
        Duration::from_secs(seconds) + Duration::from_nanos(ns)
    }
    #[cfg(not(unix))]
    {
        use std::sync::LazyLock;
        use std::time::Instant;
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed()
    }
}
