//! A thread that keeps the timelines fresh in a process that reads no clock.

use core::time::Duration;

use super::periodic::Periodic;
use crate::background::SpawnError;

/// A thread that samples the OS clocks at an interval, until this guard is dropped.
///
/// A process that reads clocks needs none: every 50 ms of use, a read or a conversion samples the OS clocks. A
/// process that reads no clock samples nothing, and learns only afterwards, and only roughly when, that the
/// wall clock was stepped or the machine suspended. With this guard it learns that within an interval.
///
/// The guard must be kept: `let _ = ...` drops it at once. There may be several, which do the same
/// work several times.
///
/// # Guarantees
///
/// Dropping it wakes the thread, lets a call that is under way end, and joins the thread: no call
/// comes after. The interval is measured from the end of one call to the start of the next, the
/// first call included; how late a call may come is up to the scheduler.
///
/// *Not* promised: that the thread is there in the child of a `fork`. Like all threads but the one
/// that called `fork`, it is not, and the child should not drop the guard.
///
/// # Cost
///
/// A thread that sleeps, and a few readings of the clocks each interval.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::Recalibrator;
///
/// let recalibrator = Recalibrator::spawn(Duration::from_secs(10))?;
/// // The process does its work here.
/// drop(recalibrator);
/// # Ok::<(), tach_core::SpawnError>(())
/// ```
#[must_use = "the thread ends when the guard is dropped"]
#[derive(Debug)]
pub struct Recalibrator {
    _thread: Periodic,
}

impl Recalibrator {
    /// A guard whose thread samples the OS clocks every `interval`, first after one interval.
    ///
    /// # Errors
    ///
    /// If the interval is not from 1 ms to 1 day, or if the system gives no thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::Recalibrator;
    ///
    /// let error = Recalibrator::spawn(Duration::ZERO).unwrap_err();
    /// assert_eq!(error.to_string(), "the interval is 0ns, but must be from 1ms to 1day");
    /// ```
    pub fn spawn(interval: Duration) -> Result<Self, SpawnError> {
        Ok(Self { _thread: Periodic::spawn("tach-sync", interval, crate::sync)? })
    }
}
