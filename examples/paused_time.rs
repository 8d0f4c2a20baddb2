//! tokio's paused time and a manual clock together: a day of retries in no time.
//!
//! ```text
//! cargo run --example paused_time
//! ```
//!
//! In a paused runtime, tokio's time stands still while a task has work, and otherwise jumps to the
//! next timer. The manual clock is in place of the system's, and moves with each sleep. So
//! timestamps and budgets follow, and a test of a service sees the times of a real run.

use core::time::Duration;
use std::io;

use tach_core::{Budget, ManualClock, UnixTime};
use tach_tracing::Utc;
use tokio::runtime::Builder;
use tokio::time::sleep;

const DAY_S: u64 = 24 * 60 * 60;

static CLOCK: ManualClock = ManualClock::new(UnixTime::from_nanos(1_700_000_000_000_000_000));

fn main() -> io::Result<()> {
    tracing_subscriber::fmt().with_ansi(false).with_timer(Utc.digits(3)).with_target(false).init();
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    CLOCK.during(|| runtime.block_on(retry()));
    Ok(())
}

async fn retry() {
    let budget = Budget::new(Duration::from_secs(DAY_S));
    let mut pause = Duration::from_millis(250);
    while budget.check().is_ok() {
        tracing::info!(left = ?budget.remaining(), "no answer; trying again in {pause:?}");
        let nap = pause.min(budget.remaining());
        sleep(nap).await;
        CLOCK.advance(nap);
        pause *= 4;
    }
    tracing::error!("giving up after {:?}", budget.elapsed());
}
