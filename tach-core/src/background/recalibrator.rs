//! A thread that keeps the timelines fresh in a process that reads no clock.

use core::time::Duration;

use super::periodic::Periodic;
use crate::error::Error;
use crate::system;

/// The guard of a thread that samples the OS clocks at an interval until the guard is dropped.
///
/// A process that reads clocks needs none: every 50 ms of use, a read or a conversion samples the
/// OS clocks. A process that reads no clock detects a step of the wall clock or a suspend only at
/// its next read, and dates it only roughly. With this guard it detects either within an interval.
///
/// Keep the guard: `let _ = ...` drops it at once. Several guards are allowed, but do the same work
/// several times.
///
/// # Guarantees
///
/// Dropping it wakes the thread, lets a running call end, and joins the thread: no call comes
/// after. The interval is the time from the end of one call to the start of the next, and the first
/// call comes after one interval. How late a call may come is up to the scheduler.
///
/// The child of a `fork` has no such thread, and a drop of the guard does nothing there.
///
/// # Cost
///
/// A thread that sleeps, and a few readings of the clocks an interval.
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
/// # Ok::<(), tach_core::Error>(())
/// ```
#[must_use = "the thread ends when the guard is dropped"]
#[derive(Debug)]
pub struct Recalibrator {
    _thread: Periodic,
}

impl Recalibrator {
    /// Spawns a thread that samples the OS clocks every `interval`, first after one interval.
    ///
    /// # Errors
    ///
    /// Fails if the interval is not from 1 ms to 1 day, or if the system can't create a thread.
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
    pub fn spawn(interval: Duration) -> Result<Self, Error> {
        Ok(Self { _thread: Periodic::spawn("tach-sync", interval, system::sync)? })
    }
}
