//! The CPU time of a thread.

use core::marker::PhantomData;
use core::time::Duration;

use crate::os;

/// A reading of the CPU time that the current thread has used.
///
/// CPU time stands still while the thread sleeps, waits, or is preempted. It includes the time that
/// the kernel works for the thread. Compare it with an [`Instant`](crate::Instant) to see for how
/// long the thread was running.
///
/// # Guarantees
///
/// Readings of one thread do not go back. A reading belongs to the thread that took it, so the type
/// is neither `Send` nor `Sync`:
///
/// ```compile_fail
/// let reading = tach_core::ThreadCpuInstant::now();
/// std::thread::spawn(move || reading);
/// ```
///
/// The child of a `fork` starts with no CPU time, so durations since a reading of the parent are
/// zero until the child has used as much.
///
/// # Platforms
///
/// Linux, Android, Apple's systems, FreeBSD, `DragonFly` BSD, OpenBSD and Windows measure the CPU
/// time of threads. Windows counts it when its timer interrupts, every 15.6 ms by default.
/// Elsewhere [`now`](Self::now) returns `None`.
///
/// # Cost
///
/// A system call.
///
/// # Examples
///
/// ```
/// use tach_core::{Instant, ThreadCpuInstant};
///
/// let (start, cpu) = (Instant::now(), ThreadCpuInstant::now());
/// let sum: u64 = (0..1_000).sum();
/// if let Some(cpu) = cpu {
///     println!("{sum} took {:?}, on a CPU for {:?}", start.elapsed(), cpu.elapsed());
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadCpuInstant {
    ns: u64,
    of_this_thread: PhantomData<*const ()>,
}

impl ThreadCpuInstant {
    /// Reads the CPU time of the current thread. Returns `None` if the system does not measure it.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::ThreadCpuInstant;
    ///
    /// if ThreadCpuInstant::now().is_none() {
    ///     println!("this system does not measure the CPU time of threads");
    /// }
    /// ```
    #[must_use]
    pub fn now() -> Option<Self> {
        os::thread_cpu_ns().map(|ns| Self { ns, of_this_thread: PhantomData })
    }

    /// Returns the CPU time that the current thread has used since this reading; zero if the clock
    /// can't be read any more.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::ThreadCpuInstant;
    ///
    /// if let Some(start) = ThreadCpuInstant::now() {
    ///     println!("{:?} of CPU time", start.elapsed());
    /// }
    /// ```
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Self::now().map_or(Duration::ZERO, |now| now.duration_since(*self))
    }

    /// Returns the CPU time that the thread used from `earlier` to this reading; zero if `earlier`
    /// is later.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::ThreadCpuInstant;
    ///
    /// if let (Some(a), Some(b)) = (ThreadCpuInstant::now(), ThreadCpuInstant::now()) {
    ///     assert_eq!(a.duration_since(a), Duration::ZERO);
    ///     println!("{:?} between the readings", b.duration_since(a));
    /// }
    /// ```
    #[must_use]
    pub const fn duration_since(&self, earlier: Self) -> Duration {
        Duration::from_nanos(self.ns.saturating_sub(earlier.ns))
    }
}
