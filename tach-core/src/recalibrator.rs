//! A thread that keeps the timelines fresh in a process that reads no clock.

use core::convert::Infallible;
use core::error::Error;
use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

/// As Linux shows it: at most 15 bytes.
const THREAD_NAME: &str = "tach-sync";

/// A thread that samples the OS clocks at an interval, until this guard is dropped.
///
/// Truth does not need it: a timeline samples the OS clocks on demand, whenever a tick is converted
/// that its last record does not reach. A process that reads no clock for a while samples nothing
/// meanwhile, though, and learns only afterwards that the wall clock was stepped or the machine
/// suspended, and only roughly when. With this guard it learns that within an interval.
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
/// # Ok::<(), tach_core::RecalibratorError>(())
/// ```
#[must_use = "the thread ends when the guard is dropped"]
#[derive(Debug)]
pub struct Recalibrator {
    /// Present until the drop, as is the thread. Nothing is ever sent: the receiver waits to see it
    /// disconnected.
    alive: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
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
    pub fn spawn(interval: Duration) -> Result<Self, RecalibratorError> {
        Self::spawn_calling(crate::sync, interval)
    }

    fn spawn_calling(
        call: impl FnMut() + Send + 'static,
        interval: Duration,
    ) -> Result<Self, RecalibratorError> {
        const ALLOWED: RangeInclusive<Duration> =
            Duration::from_millis(1)..=Duration::from_secs(24 * 60 * 60);
        if !ALLOWED.contains(&interval) {
            return Err(RecalibratorError(Fault::Interval(interval)));
        }
        let (alive, guard) = mpsc::channel();
        let thread = thread::Builder::new()
            .name(THREAD_NAME.into())
            .spawn(move || call_until_dropped(call, interval, &guard))
            .map_err(|error| RecalibratorError(Fault::Thread(error)))?;
        Ok(Self { alive: Some(alive), thread: Some(thread) })
    }
}

impl Drop for Recalibrator {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(thread) = self.thread.take() {
            // A call that panicked has told so; to panic here too could abort the process.
            let _ = thread.join();
        }
    }
}

fn call_until_dropped(mut call: impl FnMut(), interval: Duration, guard: &Receiver<Infallible>) {
    while guard.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        call();
    }
}

/// The error of [`Recalibrator::spawn`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::Recalibrator;
///
/// let error = Recalibrator::spawn(Duration::from_secs(1_000_000)).unwrap_err();
/// assert!(error.is_interval());
/// ```
#[derive(Debug)]
pub struct RecalibratorError(Fault);

#[derive(Debug)]
enum Fault {
    Interval(Duration),
    Thread(io::Error),
}

impl RecalibratorError {
    /// Whether the interval was out of range; otherwise the system gave no thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let error = tach_core::Recalibrator::spawn(Duration::from_micros(999)).unwrap_err();
    /// assert!(error.is_interval());
    /// ```
    #[must_use]
    pub fn is_interval(&self) -> bool {
        matches!(self.0, Fault::Interval(_))
    }
}

impl fmt::Display for RecalibratorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Fault::Interval(given) => {
                write!(f, "the interval is {given:?}, but must be from 1ms to 1day")
            }
            Fault::Thread(_) => f.write_str("the system gives no thread to recalibrate on"),
        }
    }
}

impl Error for RecalibratorError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Fault::Interval(_) => None,
            Fault::Thread(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::TryRecvError;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn the_interval_has_bounds() {
        for good in [Duration::from_millis(1), Duration::from_secs(1), DAY] {
            drop(Recalibrator::spawn(good).expect("an interval within the bounds"));
        }
        let too_short = Duration::from_nanos(999_999);
        let too_long = DAY + Duration::from_nanos(1);
        for bad in [Duration::ZERO, too_short, too_long, Duration::MAX] {
            let error = Recalibrator::spawn(bad).expect_err("an interval out of bounds");
            assert!(error.is_interval(), "{bad:?}");
            assert!(error.source().is_none(), "{bad:?}");
        }
    }

    #[test]
    fn the_error_says_what_is_wrong() {
        let of = |interval| RecalibratorError(Fault::Interval(interval)).to_string();
        assert_eq!(of(Duration::ZERO), "the interval is 0ns, but must be from 1ms to 1day");
        assert_eq!(of(DAY * 2), "the interval is 172800s, but must be from 1ms to 1day");
        let error = RecalibratorError(Fault::Thread(io::Error::other("no room")));
        assert!(!error.is_interval());
        assert_eq!(error.to_string(), "the system gives no thread to recalibrate on");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("no room"));
    }

    #[test]
    fn it_calls_again_and_again() {
        let (called, calls) = mpsc::channel();
        let call = move || called.send(()).expect("the test waits for calls");
        let recalibrator = Recalibrator::spawn_calling(call, Duration::from_millis(1));
        let recalibrator = recalibrator.expect("a thread");
        for _ in 0..5 {
            calls.recv().expect("the thread to be there");
        }
        drop(recalibrator);
        // Calls from before the drop can be left over; after them, nobody is there to send more.
        while calls.try_recv().is_ok() {}
        assert_eq!(calls.try_recv(), Err(TryRecvError::Disconnected));
    }

    #[test]
    fn a_drop_ends_a_thread_that_would_sleep_for_a_day() {
        let (owned_by_thread, thread) = mpsc::channel::<Infallible>();
        let call = move || panic!("{owned_by_thread:?} is called before its time");
        let recalibrator = Recalibrator::spawn_calling(call, DAY).expect("a thread");
        assert_eq!(thread.try_recv(), Err(TryRecvError::Empty));
        drop(recalibrator);
        assert_eq!(thread.try_recv(), Err(TryRecvError::Disconnected));
    }

    #[test]
    fn a_call_that_panics_does_not_harm_the_owner() {
        let (owned_by_thread, thread) = mpsc::channel::<Infallible>();
        let call = move || {
            let _owned = &owned_by_thread;
            panic!("as this test expects");
        };
        let recalibrator = Recalibrator::spawn_calling(call, Duration::from_millis(1));
        let recalibrator = recalibrator.expect("a thread");
        thread.recv().expect_err("the thread to end");
        drop(recalibrator);
    }
}
