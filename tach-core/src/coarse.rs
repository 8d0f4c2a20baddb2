//! The time of the last refresh: a clock whose read is one load.
//!
//! While a [`Refresher`] lives, its thread reads the precise clock at an interval and publishes what
//! it read; [`now`], [`unix_nanos`] and [`unix_time`] give that. They are for those who read the
//! clock more often than they need it to move: caches that expire, counters per second, log lines
//! whose stamps need no more than a millisecond. While none lives they read the precise clock
//! instead, so that a guard which was forgotten costs speed, and never truth.
//!
//! # Guarantees
//!
//! While a refresher lives, instants don't go back: if taking `a` with [`now`] happens-before taking
//! `b` with it, on any threads, then `a <= b`. Unix time follows the real-time clock; when that is
//! set back, so is this, at the next refresh.
//!
//! *Not* promised: how old a value is. It is as old as the last refresh, and that is late when the
//! scheduler starves the thread, when the machine was suspended, and in the child of a `fork`, which
//! has no such thread until it spawns a refresher of its own. [`staleness`] tells. Nor is it promised
//! that a coarse instant comes after a precise one taken before it: it is that of the last refresh.
//! That holds too for what [`now`] gave another thread just before the first refresher was spawned,
//! since that was precise. Subtraction saturates at zero, so such a pair never panics.
//!
//! Only a [`Refresher`] takes a lock: the functions may be called in a signal handler.
//!
//! # Cost
//!
//! A relaxed atomic load and a predicted branch. The two values lie alone on their cache lines, which
//! each refresh takes from the readers' caches.
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
//! # Ok::<(), tach_core::SpawnError>(())
//! ```

mod published;
mod reading;

use core::time::Duration;

use self::published::{Published, Registration};
use crate::background::Periodic;
use crate::background::SpawnError;
use crate::instants::Instant;
use crate::sync::Reading;
use crate::unix_time::UnixTime;

static PUBLISHED: Published = Published::new();

/// The instant of the last refresh; now, while there is no refresher.
///
/// # Cost
///
/// A relaxed load and a predicted branch; without a refresher [`Instant::now`] as well.
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
        None => precise_now(),
    }
}

/// The Unix time at the last refresh, in nanoseconds; now, while there is no refresher.
///
/// # Cost
///
/// A relaxed load and a predicted branch; without a refresher [`unix_nanos`](crate::unix_nanos) as
/// well.
///
/// # Examples
///
/// ```
/// let stamp: u64 = tach_core::coarse::unix_nanos();
/// ```
#[must_use]
#[inline]
pub fn unix_nanos() -> u64 {
    match PUBLISHED.unix_ns() {
        Some(unix_ns) => unix_ns.get(),
        None => precise_unix_nanos(),
    }
}

/// The Unix time at the last refresh; now, while there is no refresher.
///
/// # Cost
///
/// That of [`unix_nanos`].
///
/// # Examples
///
/// ```
/// println!("{:.3}", tach_core::coarse::unix_time());
/// ```
#[must_use]
#[inline]
pub fn unix_time() -> UnixTime {
    UnixTime::from_nanos(unix_nanos())
}

/// Out of line, so that the read with a refresher saves no registers for this one.
#[cold]
#[inline(never)]
fn precise_now() -> Instant {
    Instant::now()
}

/// Out of line for the reason that [`precise_now`] has.
#[cold]
#[inline(never)]
fn precise_unix_nanos() -> u64 {
    crate::unix_nanos()
}

/// Refreshes the values now, in addition to what the refreshers do.
///
/// Without a refresher it does nothing: reads are precise then.
///
/// # Guarantees
///
/// If there is a refresher throughout, the values are those of a reading of the clock that was taken
/// after the call began, by this thread or another.
///
/// # Cost
///
/// A read of the precise clock and two writes to what the readers share; again, if another refresh
/// came between.
///
/// # Examples
///
/// A process that wakes up after a long wait need not wait for the refresher's turn.
///
/// ```
/// use std::time::Duration;
/// use tach_core::coarse::{self, Refresher};
///
/// let _refresher = Refresher::spawn(Duration::from_secs(60))?;
/// let before = coarse::now();
/// std::thread::sleep(Duration::from_millis(2));
/// coarse::refresh();
/// assert!(coarse::now() > before);
/// # Ok::<(), tach_core::SpawnError>(())
/// ```
pub fn refresh() {
    PUBLISHED.refresh(Reading::now);
}

/// How far the values lie behind the precise clock; `None` while there is no refresher.
///
/// It is the time since the last refresh, by the instants or by Unix time, whichever is more: a
/// suspend, which instants don't count, is told too, and so is a real-time clock that was set
/// forward. One that was set back is not.
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
/// # Ok::<(), tach_core::SpawnError>(())
/// ```
#[must_use]
pub fn staleness() -> Option<Duration> {
    let published = PUBLISHED.reading()?;
    Some(published.age_at(Reading::now()))
}

/// A thread that refreshes the values at an interval, until this guard is dropped.
///
/// The guard must be kept: `let _ = ...` drops it at once. There may be several, such as one of
/// each library: the values are then refreshed at the intervals of all, and cleared when the last
/// one is dropped.
///
/// # Guarantees
///
/// Dropping it wakes the thread and joins it. Once the last one is dropped, reads are precise.
///
/// *Not* promised: that the thread is there in the child of a `fork`. Like all threads but the one
/// that called `fork`, it is not, and the child should not drop the guard. It may spawn one of its
/// own, unless another thread was just spawning or dropping one when it was forked.
///
/// # Cost
///
/// A thread that sleeps, and one [`refresh`] each interval. To spawn and to drop take a lock, so
/// neither is for a signal handler.
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
/// # Ok::<(), tach_core::SpawnError>(())
/// ```
#[must_use = "the thread ends when the guard is dropped"]
#[derive(Debug)]
pub struct Refresher {
    /// Dropped first, so that the values are refreshed for as long as there are any.
    _thread: Periodic,
    _registration: Registration<'static>,
}

impl Refresher {
    /// A guard whose thread refreshes the values every `interval`; they are fresh when this returns.
    ///
    /// # Errors
    ///
    /// If the interval is not from 1 ms to 1 day, or if the system gives no thread.
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
    pub fn spawn(interval: Duration) -> Result<Self, SpawnError> {
        Self::spawn_on(&PUBLISHED, interval)
    }

    fn spawn_on(published: &'static Published, interval: Duration) -> Result<Self, SpawnError> {
        // Registered after the thread is there, so that nothing is left if there is none. A call that
        // comes before does nothing.
        let refresh = || published.refresh(Reading::now);
        let thread = Periodic::spawn("tach-coarse", interval, refresh)?;
        Ok(Self { _thread: thread, _registration: published.register(Reading::now) })
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const DAY: Duration = Duration::from_secs(86_400);

    /// Waits until there is a reading other than `last`; far longer than any scheduler makes it.
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
        assert!(spawned.expect_err("an interval out of bounds").is_interval());
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

    /// The only test that touches what the process shares, so that none disturbs it.
    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn reads_are_precise_unless_a_refresher_runs() {
        let is_precise = || {
            let (before, instant, after) = (Instant::now(), now(), Instant::now());
            let (unix_before, unix) = (crate::unix_nanos(), unix_nanos());
            before <= instant && instant <= after && unix_before <= unix
        };
        refresh();
        assert_eq!(staleness(), None);
        assert!(is_precise());

        let refresher = Refresher::spawn(DAY).expect("a thread");
        let (instant, unix) = (now(), unix_nanos());
        assert!(staleness().is_some());
        thread::sleep(4 * MS);
        assert!(staleness() >= Some(2 * MS), "{:?}", staleness());
        assert_eq!((now(), unix_nanos()), (instant, unix), "nobody has refreshed them");
        assert_eq!(unix_time().as_nanos(), unix);
        assert!(!is_precise());
        refresh();
        assert!(now() > instant);
        assert_ne!(unix_nanos(), unix);

        drop(refresher);
        assert_eq!(staleness(), None);
        assert!(is_precise());
    }
}
