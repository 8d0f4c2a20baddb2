//! A thread that calls a function at an interval until its guard is dropped.

use core::convert::Infallible;
use core::mem;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::process;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use crate::error::Error;

/// The guard of the thread.
///
/// The interval is the time from the end of one call to the start of the next. The first call comes
/// after one interval. Dropping the guard wakes the thread, lets a running call end, and joins the
/// thread: no call comes after. In a forked child, which has no such thread, a drop does nothing.
#[derive(Debug)]
pub(crate) struct Periodic {
    /// The process that has the thread.
    process: u32,
    /// Present until the drop. Nothing is ever sent: the thread waits for the disconnection.
    alive: Option<(Sender<Infallible>, JoinHandle<()>)>,
}

impl Periodic {
    /// Spawns a thread with that name. Linux shows the first 15 bytes.
    pub(crate) fn spawn(
        thread_name: &str,
        interval: Duration,
        call: impl FnMut() + Send + 'static,
    ) -> Result<Self, Error> {
        const ALLOWED: RangeInclusive<Duration> =
            Duration::from_millis(1)..=Duration::from_secs(24 * 60 * 60);
        if !ALLOWED.contains(&interval) {
            return Err(Error::interval(interval));
        }
        let (alive, guard) = mpsc::channel();
        let thread = thread::Builder::new()
            .name(thread_name.into())
            .spawn(move || call_until_dropped(call, interval, &guard))
            .map_err(|error| Error::thread(error.raw_os_error()))?;
        Ok(Self { process: process::id(), alive: Some((alive, thread)) })
    }

    /// Returns `false` in a forked child.
    pub(crate) fn is_in_its_process(&self) -> bool {
        self.process == process::id()
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        if !self.is_in_its_process() {
            // The thread may have held the channel's lock during the fork, and can't be joined.
            mem::forget(self.alive.take());
            return;
        }
        if let Some((alive, thread)) = self.alive.take() {
            drop(alive);
            // Ignore the panic of a call: the panic hook has reported it, and a panic here could
            // abort the process.
            let _ = thread.join();
        }
    }
}

fn call_until_dropped(mut call: impl FnMut(), interval: Duration, guard: &Receiver<Infallible>) {
    while guard.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        call();
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
            assert_eq!(error, Error::interval(bad));
            assert!(error.is_out_of_range(), "{bad:?}");
        }
    }

    #[test]
    fn the_error_names_the_interval_and_the_bounds() {
        let of = |interval| Periodic::spawn("tach-test", interval, || ()).unwrap_err().to_string();
        assert_eq!(of(Duration::ZERO), "the interval is 0ns, but must be from 1ms to 1day");
        assert_eq!(of(DAY * 2), "the interval is 172800s, but must be from 1ms to 1day");
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
