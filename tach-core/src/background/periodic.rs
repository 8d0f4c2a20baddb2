//! A thread that calls a function at an interval until its guard is dropped.

use core::convert::Infallible;
use core::error::Error;
use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

/// The guard of the thread.
///
/// The interval is the time from the end of one call to the start of the next. The first call comes
/// after one interval. Dropping the guard wakes the thread, lets a running call end, and joins the
/// thread: no call comes after.
#[derive(Debug)]
pub(crate) struct Periodic {
    /// Like the thread, present until the drop. Nothing is ever sent: the receiver waits for the
    /// disconnection.
    alive: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Periodic {
    /// Spawns a thread with that name. Linux shows the first 15 bytes.
    pub(crate) fn spawn(
        thread_name: &str,
        interval: Duration,
        call: impl FnMut() + Send + 'static,
    ) -> Result<Self, SpawnError> {
        const ALLOWED: RangeInclusive<Duration> =
            Duration::from_millis(1)..=Duration::from_secs(24 * 60 * 60);
        if !ALLOWED.contains(&interval) {
            return Err(SpawnError(Fault::Interval(interval)));
        }
        let (alive, guard) = mpsc::channel();
        let thread = thread::Builder::new()
            .name(thread_name.into())
            .spawn(move || call_until_dropped(call, interval, &guard))
            .map_err(|error| SpawnError(Fault::Thread(error)))?;
        Ok(Self { alive: Some(alive), thread: Some(thread) })
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(thread) = self.thread.take() {
            // The panic hook has reported a call that panicked. A panic here could abort the
            // process.
            let _ = thread.join();
        }
    }
}

fn call_until_dropped(mut call: impl FnMut(), interval: Duration, guard: &Receiver<Infallible>) {
    while guard.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        call();
    }
}

/// The error of `Recalibrator::spawn` and `coarse::Refresher::spawn`.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "recalibrator")] {
/// use std::time::Duration;
/// use tach_core::Recalibrator;
///
/// let error = Recalibrator::spawn(Duration::from_secs(1_000_000)).unwrap_err();
/// assert!(error.is_interval());
/// # }
/// ```
#[derive(Debug)]
pub struct SpawnError(Fault);

#[derive(Debug)]
enum Fault {
    Interval(Duration),
    Thread(io::Error),
}

impl SpawnError {
    /// Returns whether the interval was out of range. Otherwise the system could not create a
    /// thread.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "coarse")] {
    /// use std::time::Duration;
    /// use tach_core::coarse::Refresher;
    ///
    /// let error = Refresher::spawn(Duration::from_micros(999)).unwrap_err();
    /// assert!(error.is_interval());
    /// # }
    /// ```
    #[must_use]
    pub fn is_interval(&self) -> bool {
        matches!(self.0, Fault::Interval(_))
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Fault::Interval(given) => {
                write!(f, "the interval is {given:?}, but must be from 1ms to 1day")
            }
            Fault::Thread(_) => f.write_str("the system gives no thread"),
        }
    }
}

impl Error for SpawnError {
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

    fn spawn(interval: Duration, call: impl FnMut() + Send + 'static) -> Periodic {
        Periodic::spawn("tach-test", interval, call).expect("a thread")
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn the_interval_has_bounds() {
        for good in [Duration::from_millis(1), Duration::from_secs(1), DAY] {
            drop(spawn(good, || ()));
        }
        let too_short = Duration::from_nanos(999_999);
        let too_long = DAY + Duration::from_nanos(1);
        for bad in [Duration::ZERO, too_short, too_long, Duration::MAX] {
            let spawned = Periodic::spawn("tach-test", bad, || ());
            let error = spawned.expect_err("an interval out of bounds");
            assert!(error.is_interval(), "{bad:?}");
            assert!(error.source().is_none(), "{bad:?}");
        }
    }

    #[test]
    fn the_error_says_what_is_wrong() {
        let of = |interval| SpawnError(Fault::Interval(interval)).to_string();
        assert_eq!(of(Duration::ZERO), "the interval is 0ns, but must be from 1ms to 1day");
        assert_eq!(of(DAY * 2), "the interval is 172800s, but must be from 1ms to 1day");
        let error = SpawnError(Fault::Thread(io::Error::other("no room")));
        assert!(!error.is_interval());
        assert_eq!(error.to_string(), "the system gives no thread");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("no room"));
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn it_calls_repeatedly_on_a_thread_with_that_name() {
        let (called, calls) = mpsc::channel();
        let periodic = spawn(Duration::from_millis(1), move || {
            let name = thread::current().name().map(str::to_owned);
            called.send(name).expect("the test waits for calls");
        });
        for _ in 0..5 {
            let name = calls.recv().expect("the thread to be there");
            assert_eq!(name.as_deref(), Some("tach-test"));
        }
        drop(periodic);
        // Messages from before the drop may remain. After them, the sender is gone.
        while calls.try_recv().is_ok() {}
        assert_eq!(calls.try_recv(), Err(TryRecvError::Disconnected));
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn a_drop_ends_a_thread_that_would_sleep_for_a_day() {
        let (owned_by_thread, thread) = mpsc::channel::<Infallible>();
        let call = move || panic!("{owned_by_thread:?} is called before its time");
        let periodic = spawn(DAY, call);
        assert_eq!(thread.try_recv(), Err(TryRecvError::Empty));
        drop(periodic);
        assert_eq!(thread.try_recv(), Err(TryRecvError::Disconnected));
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn a_call_that_panics_does_not_harm_the_owner() {
        let (owned_by_thread, thread) = mpsc::channel::<Infallible>();
        let periodic = spawn(Duration::from_millis(1), move || {
            let _owned = &owned_by_thread;
            panic!("as this test expects");
        });
        thread.recv().expect_err("the thread to end");
        drop(periodic);
    }
}
