//! tokio's paused time as the clock of logs and budgets: a day of retries in no time.
//!
//! ```text
//! cargo run --example paused_time
//! ```
//!
//! In a paused runtime, tokio's time stands still while a task has work, and otherwise jumps to the
//! next timer. With a clock on that time, timestamps and budgets follow, so that a test of a
//! service sees the times of a real run.

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::thread;

use tach_core::{Budget, Clock, Instant, UnixTime};
use tach_tracing::Utc;
use tokio::runtime::Handle;
use tokio::time::{self, sleep};

const DAY_S: u64 = 24 * 60 * 60;

/// tokio's time as a clock for any thread: a read enters the runtime, which knows the time.
struct TokioClock {
    runtime: AssertUnwindSafe<Handle>,
    /// Tick 0. A tick is a nanosecond.
    start: time::Instant,
    start_unix: UnixTime,
}

impl Clock for TokioClock {
    fn monotonic_now(&self) -> Instant {
        let _entered = self.runtime.enter();
        let ns = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Instant::from_ticks(ns)
    }

    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        Duration::from_nanos(later.as_ticks().saturating_sub(earlier.as_ticks()))
    }

    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        self.start_unix.saturating_add(Duration::from_nanos(instant.as_ticks()))
    }
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    // Budgets are `Copy`, and hold a `'static` reference to their clock.
    let clock: &TokioClock = Box::leak(Box::new(TokioClock {
        runtime: AssertUnwindSafe(Handle::current()),
        start: time::Instant::now(),
        start_unix: UnixTime::from_nanos(1_700_000_000_000_000_000),
    }));
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_target(false)
        .with_timer(Utc.digits(3).with_clock(clock))
        .init();

    let budget = Budget::new(Duration::from_secs(DAY_S)).with_clock(clock);
    let mut pause = Duration::from_millis(250);
    while budget.check().is_ok() {
        tracing::info!(left = ?budget.remaining(), "no answer; trying again in {pause:?}");
        sleep(pause.min(budget.remaining())).await;
        pause *= 4;
    }
    let gone = thread::spawn(move || budget.elapsed()).join().expect("a read does not panic");
    tracing::error!("giving up after {gone:?}, as another thread sees it");
}
