//! tokio's paused time as the clock of logs and budgets: a day of retries, told in no time.
//!
//! ```text
//! cargo run --example paused_time
//! ```
//!
//! In a runtime that is paused, tokio's time stands still while any task has work and leaps to the next
//! timer when none has. A clock that is built on it makes timestamps and budgets leap along, so that a
//! test of a service sees the times that the service would have seen.

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::thread;

use tach_core::{Budget, Clock, Instant, MonotonicInstant, UnixTime};
use tach_tracing::{Timer as _, Utc};
use tokio::runtime::Handle;
use tokio::time::{self, sleep};

/// In seconds.
const DAY_S: u64 = 24 * 60 * 60;

/// tokio's time as tach's clock, on any thread: outside of the runtime its time is not known, so a read
/// enters it.
struct TokioClock {
    runtime: AssertUnwindSafe<Handle>,
    /// The ticks of its instants are the nanoseconds since then.
    start: time::Instant,
    start_unix: UnixTime,
}

impl Clock for TokioClock {
    fn monotonic_now(&self) -> MonotonicInstant {
        let _entered = self.runtime.enter();
        let ns = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        MonotonicInstant::from_ticks(ns)
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
    // Budgets hold a reference that lives for ever, so that they can be copied.
    let clock: &TokioClock = Box::leak(Box::new(TokioClock {
        runtime: AssertUnwindSafe(Handle::current()),
        start: time::Instant::now(),
        start_unix: UnixTime::from_nanos(1_700_000_000_000_000_000),
    }));
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_target(false)
        .with_timer(Utc::<3>.with_clock(clock))
        .init();

    let budget = Budget::with_clock(Duration::from_secs(DAY_S), clock);
    let mut pause = Duration::from_millis(250);
    while budget.check().is_ok() {
        tracing::info!(left = ?budget.remaining(), "no answer; trying again in {pause:?}");
        sleep(pause.min(budget.remaining())).await;
        pause *= 4;
    }
    let gone = thread::spawn(move || budget.elapsed()).join().expect("a read does not panic");
    tracing::error!("giving up after {gone:?}, as another thread sees it");
}
