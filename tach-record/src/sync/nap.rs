//! A nap that another thread or a signal handler can end.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use rustix::event::Timespec;
use rustix::thread::futex;

const EMPTY: u32 = 0;
const RUNG: u32 = 1;
const ASLEEP: u32 = u32::MAX;

/// Lets one thread sleep. It is the parking of the standard library, with two differences: the
/// kernel counts the time, so a library that stops the program's clocks stops no nap, and
/// [`wake`](Self::wake) needs no memory of a thread, so a signal handler may call it.
#[derive(Debug)]
pub struct Nap(AtomicU32);

impl Nap {
    /// Creates a nap that nobody takes.
    pub const fn new() -> Self {
        Self(AtomicU32::new(EMPTY))
    }

    /// Sleeps until a wake-up, also an earlier one that ended no nap, or for `longest`. May return
    /// early.
    pub fn sleep(&self, longest: Duration) {
        // ORDERING: Acquire, with the Release of `wake`. From `EMPTY` the state becomes `ASLEEP`,
        // and from `RUNG` it becomes `EMPTY`.
        if self.0.fetch_sub(1, Ordering::Acquire) == RUNG {
            return;
        }
        // The kernel compares the word first, so a wake-up before the wait is not missed. The result
        // does not matter: `sleep` may return early.
        let longest = Timespec::try_from(longest).ok();
        let _ended = futex::wait(&self.0, futex::Flags::PRIVATE, ASLEEP, longest.as_ref());
        // ORDERING: Acquire, with the Release of `wake`.
        self.0.swap(EMPTY, Ordering::Acquire);
    }

    /// Ends the nap, or else the next one at once.
    pub fn wake(&self) {
        // ORDERING: Release, with the Acquire of `sleep`: the sleeper sees what the caller did.
        if self.0.swap(RUNG, Ordering::Release) == ASLEEP {
            let _nobody_sleeps = futex::wake(&self.0, futex::Flags::PRIVATE, 1);
        }
    }
}
