//! quanta's names over tach-core, for quanta's tests. `cargo xtask peers quanta` runs them.
//!
//! Each file ends with the tests from quanta's file of the same name.

mod instant;
mod upkeep;

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tach_core::{AtomicInstant, Clock as _, ManualClock, SystemClock, UnixTime};

pub use crate::instant::Instant;
pub use crate::upkeep::Upkeep;

/// The instant that [`Instant::recent`] returns, unless it is zero.
static RECENT: AtomicInstant = AtomicInstant::new(tach_core::Instant::from_ticks(0));

thread_local! {
    static SCOPED: RefCell<Option<Clock>> = const { RefCell::new(None) };
}

/// A clock of tach-core.
#[derive(Clone)]
pub struct Clock {
    clock: Arc<dyn tach_core::Clock>,
    /// The tick that is quanta's 0: a mock's start.
    origin: u64,
    base: Timebase,
}

/// An instant, and the reference's time at it.
#[derive(Clone, Copy)]
struct Timebase {
    instant: tach_core::Instant,
    reference_ns: u64,
}

impl Timebase {
    fn now() -> Self {
        let (instant, reference_ns) = Monotonic.beside(tach_core::Instant::now);
        Self { instant, reference_ns }
    }
}

impl Clock {
    pub fn new() -> Self {
        Self { clock: Arc::new(SystemClock), origin: 0, base: Timebase::now() }
    }

    pub fn mock() -> (Self, Mock) {
        let manual = Arc::new(ManualClock::new(UnixTime::EPOCH));
        let origin = manual.now().as_ticks();
        (Self { clock: manual.clone(), origin, base: Timebase::now() }, Mock(manual))
    }

    pub fn now(&self) -> Instant {
        Instant(self.raw())
    }

    pub fn raw(&self) -> u64 {
        self.clock.now().as_ticks() - self.origin
    }

    pub fn scaled(&self, raw: u64) -> Instant {
        Instant(raw)
    }

    /// Returns the time in the reference's nanoseconds, and the reference's own time. quanta's
    /// instants contain the former; tach's contain ticks.
    pub fn beside(&self, reference: &Monotonic) -> (u64, u64) {
        reference.beside(|| {
            let since = self.clock.duration_between(self.base.instant, self.clock.now());
            self.base.reference_ns + nanos(since)
        })
    }

    pub fn reset_timebase(&mut self) {
        self.base = Timebase::now();
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// Advances the clock that was returned with it.
pub struct Mock(Arc<ManualClock>);

impl Mock {
    pub fn increment(&self, ns: u64) {
        self.0.advance(Duration::from_nanos(ns));
    }
}

/// The counter.
#[derive(Default)]
pub struct Counter;

impl Counter {
    pub fn now(&self) -> u64 {
        tach_core::Instant::now().as_ticks()
    }
}

/// The reference: the OS's monotonic clock, in nanoseconds.
#[derive(Default)]
pub struct Monotonic;

impl Monotonic {
    pub fn now(&self) -> u64 {
        static START: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
        nanos(START.elapsed())
    }

    /// Calls `read`, and reads the reference afterwards. Repeats both if they took more than 1 us:
    /// then the thread was probably interrupted, and the two times don't belong together. A slow
    /// clock of the OS takes that long each time, and is accepted in the end.
    fn beside<T>(&self, read: impl Fn() -> T) -> (T, u64) {
        let mut attempts = 0..100;
        loop {
            let before = self.now();
            let value = read();
            let after = self.now();
            if after - before < 1000 || attempts.next().is_none() {
                return (value, after);
            }
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).expect("less than 584 years")
}

pub fn with_clock<T>(clock: &Clock, body: impl FnOnce() -> T) -> T {
    let outer = SCOPED.replace(Some(clock.clone()));
    let result = body();
    SCOPED.set(outer);
    result
}

pub fn set_recent(instant: Instant) {
    RECENT.store(tach_core::Instant::from_ticks(instant.0), Ordering::Relaxed);
}

#[cfg(test)]
include!(concat!(env!("PEER_TESTS"), "/lib.rs"));
