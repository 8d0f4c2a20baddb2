//! A clock whose read is one load: it returns the time of the last refresh.
//!
//! While a [`Refresher`] lives, its thread reads the precise clock at an interval and publishes the
//! reading. [`now`] and [`unix_time`] return it. Use them to read the clock more
//! often than it needs to move: for caches that expire, counters per second, or log timestamps to a
//! millisecond. Without a refresher they read the precise clock, so a missing guard costs speed,
//! but never accuracy.
//!
//! # Guarantees
//!
//! While a refresher lives, instants don't go back: if taking `a` with [`now`] happens-before
//! taking `b` with it, on any threads, then `a <= b`. Unix time follows the real-time clock: if
//! that is set back, so is this one, at the next refresh.
//!
//! *Not* promised:
//! - The age of a value. It is as old as the last refresh, which is late if the scheduler starves
//!   the thread, or if the machine was suspended. [`staleness`] returns the age.
//! - The order of a coarse and a precise instant. A coarse instant may come before a precise one
//!   that was taken earlier. [`now`] without a refresher is precise, so this also holds for an
//!   instant that another thread took just before the first refresher was spawned. Subtraction
//!   saturates at zero, so such a pair never panics.
//!
//! Only a [`Refresher`] takes a lock. The functions may be called in a signal handler.
//!
//! # Cost
//!
//! A relaxed atomic load and a predicted branch. The two values have cache lines of their own,
//! which each refresh takes from the readers' caches.
//!
//! # Examples
//!
//! ```
//! use std::time::Duration;
//! use tach_core::coarse::{self, Refresher};
//!
//! let refresher = Refresher::spawn(Duration::from_millis(1))?;
//! let entered = coarse::now();
//! println!("{}: an entry that expires in a minute", coarse::unix_time());
//! let is_expired = coarse::now() - entered > Duration::from_secs(60);
//! # assert!(!is_expired);
//! drop(refresher);
//! # Ok::<(), tach_core::Error>(())
//! ```

mod published;
mod reading;

use core::mem;
use core::time::Duration;
use std::sync::Once;

use self::published::{Published, Registration};
use crate::background::Periodic;
use crate::error::Error;
use crate::instants::Instant;
use crate::os;
use crate::sync::Reading;
use crate::unix_time::UnixTime;

static PUBLISHED: Published = Published::new();
/// Registers [`forget_refreshers`] once per process.
static FORKS: Once = Once::new();

/// Returns the instant of the last refresh, or the current one if there is no refresher.
///
/// # Cost
///
/// A relaxed load and a predicted branch, plus [`Instant::now`] if there is no refresher.
///
/// # Examples
///
/// ```
/// let start = tach_core::coarse::now();
/// assert!(tach_core::coarse::now() >= start);
/// ```
#[must_use]
#[inline]
pub fn now() -> Instant {
    match PUBLISHED.ticks() {
        Some(ticks) => Instant::from_ticks(ticks.get()),
        None => Instant::now(),
    }
}

/// Returns the Unix time of the last refresh, or the current one if there is no refresher.
///
/// # Cost
///
/// A relaxed load and a predicted branch, plus [`UnixTime::now`] if there is no refresher.
///
/// # Examples
///
/// ```
/// println!("{:.3}", tach_core::coarse::unix_time());
/// ```
#[must_use]
#[inline]
pub fn unix_time() -> UnixTime {
    match PUBLISHED.unix_ns() {
        Some(unix_ns) => UnixTime::from_nanos(unix_ns.get()),
        None => UnixTime::now(),
    }
}

/// Returns the age of the values, or `None` if there is no refresher.
///
/// The age is the time since the last refresh by the instants or by Unix time, whichever is
/// greater. So it includes a suspend, which instants don't count, and a forward step of the
/// real-time clock, but not a backward step.
///
/// # Cost
///
/// A read of the precise clock and two conversions.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::coarse::{self, Refresher};
///
/// assert_eq!(coarse::staleness(), None);
/// let _refresher = Refresher::spawn(Duration::from_millis(10))?;
/// if coarse::staleness() > Some(Duration::from_millis(100)) {
///     println!("the refresher gets no CPU time");
/// }
/// # Ok::<(), tach_core::Error>(())
/// ```
#[must_use]
pub fn staleness() -> Option<Duration> {
    let published = PUBLISHED.reading()?;
    Some(published.age_at(Reading::now()))
}

/// The guard of a thread that refreshes the values at an interval until the guard is dropped.
///
/// Keep the guard: `let _ = ...` drops it at once. There may be several, such as one in each
/// library. Each refreshes the values at its interval, and the values are cleared when the last one
/// is dropped.
///
/// # Guarantees
///
/// Dropping it wakes the thread and joins it. Once the last one is dropped, reads are precise.
///
/// The child of a `fork` has no such thread. On Linux, Android, Apple's systems and the BSDs but
/// `DragonFly` it reads precise values. A drop of the parent's guard does nothing there.
///
/// *Not* promised: that the child may spawn its own refresher if, during the `fork`, another thread
/// was starting, or was spawning or dropping a refresher.
///
/// # Cost
///
/// A thread that sleeps. Once an interval it reads the precise clock and writes twice to shared
/// memory. Spawning and dropping take a lock, so neither is for a signal handler.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::coarse::{self, Refresher};
///
/// let refresher = Refresher::spawn(Duration::from_millis(1))?;
/// assert!(coarse::staleness().is_some());
/// drop(refresher);
/// assert!(coarse::staleness().is_none());
/// # Ok::<(), tach_core::Error>(())
/// ```
#[must_use = "the thread ends when the guard is dropped"]
#[derive(Debug)]
pub struct Refresher {
    /// Dropped first, so that no refresh comes after the values are cleared.
    thread: Periodic,
    /// `None` once it is dropped, or forgotten in a forked child.
    registration: Option<Registration<'static>>,
}

/// Lets a forked child read precise values: it has no thread that refreshes the published ones.
extern "C" fn forget_refreshers() {
    PUBLISHED.forget_refreshers();
}

impl Refresher {
    /// Spawns a thread that refreshes the values every `interval`. They are fresh when this
    /// returns.
    ///
    /// # Errors
    ///
    /// Fails if the interval is not from 1 ms to 1 day, or if the system can't create a thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::coarse::Refresher;
    ///
    /// let error = Refresher::spawn(Duration::ZERO).unwrap_err();
    /// assert_eq!(error.to_string(), "the interval is 0ns, but must be from 1ms to 1day");
    /// ```
    pub fn spawn(interval: Duration) -> Result<Self, Error> {
        Self::spawn_on(&PUBLISHED, interval)
    }

    fn spawn_on(published: &'static Published, interval: Duration) -> Result<Self, Error> {
        // Register after spawning the thread: if spawning fails, there is no registration to
        // remove. A refresh before the registration does nothing.
        let refresh = || published.refresh(Reading::now);
        let thread = Periodic::spawn("tach-coarse", interval, refresh)?;
        FORKS.call_once(|| os::call_in_forked_children(forget_refreshers));
        let registration = Some(published.register(Reading::now));
        Ok(Self { thread, registration })
    }
}

impl Drop for Refresher {
    fn drop(&mut self) {
        if !self.thread.is_in_its_process() {
            // `forget_refreshers` has removed the registration in the child.
            mem::forget(self.registration.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const DAY: Duration = Duration::from_secs(86_400);

    /// Waits for a reading other than `last`. Panics after a time far longer than any scheduler's
    /// delay.
    fn next_reading(published: &Published, last: Reading) -> Reading {
        let start = std::time::Instant::now();
        loop {
            let reading = published.reading().expect("a refresher is registered");
            if reading != last {
                return reading;
            }
            assert!(start.elapsed() < Duration::from_secs(120), "{last:?} is never refreshed");
            thread::sleep(MS);
        }
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn the_values_are_fresh_at_first_and_move_on() {
        static PUBLISHED: Published = Published::new();
        let before = Reading::now();
        let refresher = Refresher::spawn_on(&PUBLISHED, MS).expect("a thread");
        let mut reading = PUBLISHED.reading().expect("the first refresh");
        assert!(reading.ticks >= before.ticks);
        for _ in 0..5 {
            let next = next_reading(&PUBLISHED, reading);
            assert!(next.ticks > reading.ticks);
            reading = next;
        }
        assert!(reading.ticks <= Reading::now().ticks);
        drop(refresher);
        assert_eq!(PUBLISHED.reading(), None);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn the_second_refresher_goes_on_when_the_first_is_dropped() {
        static PUBLISHED: Published = Published::new();
        let first = Refresher::spawn_on(&PUBLISHED, DAY).expect("a thread");
        let alone = PUBLISHED.reading().expect("the first refresh");
        let second = Refresher::spawn_on(&PUBLISHED, MS).expect("a thread");
        let both = PUBLISHED.reading().expect("two refreshers");
        assert!(both.ticks > alone.ticks, "spawning the second refreshes too");
        drop(first);
        let now = PUBLISHED.reading().expect("one refresher is left");
        next_reading(&PUBLISHED, now);
        drop(second);
        assert_eq!(PUBLISHED.reading(), None);
    }

    #[test]
    fn a_refresher_that_is_not_spawned_registers_nothing() {
        static PUBLISHED: Published = Published::new();
        let spawned = Refresher::spawn_on(&PUBLISHED, Duration::ZERO);
        assert!(spawned.expect_err("an interval out of bounds").is_out_of_range());
        assert_eq!(PUBLISHED.reading(), None);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn a_thread_sees_ticks_in_order_while_they_are_refreshed() {
        static PUBLISHED: Published = Published::new();
        let _refresher = Refresher::spawn_on(&PUBLISHED, MS).expect("a thread");
        let _another = Refresher::spawn_on(&PUBLISHED, MS).expect("a thread");
        let ticks = || PUBLISHED.ticks().expect("a refresher is registered");
        let (mut last, mut changes) = (ticks(), 0);
        while changes < 50 {
            let next = ticks();
            assert!(next >= last, "{next} after {last}");
            changes += u32::from(next > last);
            last = next;
        }
    }

    /// The only test that uses the shared static, so that no other disturbs it.
    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn reads_are_precise_unless_a_refresher_runs() {
        let is_precise = || {
            let (before, instant, after) = (Instant::now(), now(), Instant::now());
            let (unix_before, unix) = (UnixTime::now(), unix_time());
            before <= instant && instant <= after && unix_before <= unix
        };
        assert_eq!(staleness(), None);
        assert!(is_precise());

        let refresher = Refresher::spawn(DAY).expect("a thread");
        let (instant, unix) = (now(), unix_time());
        assert!(staleness().is_some());
        thread::sleep(4 * MS);
        assert!(staleness() >= Some(2 * MS), "{:?}", staleness());
        assert_eq!((now(), unix_time()), (instant, unix), "nobody has refreshed them");
        assert!(!is_precise());
        PUBLISHED.refresh(Reading::now);
        assert!(now() > instant);
        assert_ne!(unix_time(), unix);

        drop(refresher);
        assert_eq!(staleness(), None);
        assert!(is_precise());
    }
}
