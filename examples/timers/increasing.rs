//! Times that never repeat, on all threads.
//!
//! ```text
//! cargo run --example timer_increasing
//! ```

use core::time::Duration;
use std::thread;

use tach_core::{IncreasingClock, SystemClock};
use tach_tracing::Utc;

/// Its resolution is that of the last digit.
static CLOCK: IncreasingClock = IncreasingClock::new(SystemClock, Duration::from_micros(1));

fn main() {
    tracing_subscriber::fmt().with_timer(Utc.with_clock(&CLOCK)).init();
    thread::scope(|scope| {
        for worker in 1..=2 {
            scope.spawn(move || (1..=3).for_each(|job| tracing::info!(worker, job, "done")));
        }
    });
}
