//! Times that never repeat, on all threads.
//!
//! ```text
//! cargo run --example timer_increasing
//! ```

use std::thread;

use tach_tracing::{Timer as _, Utc};

fn main() {
    tracing_subscriber::fmt().with_timer(Utc::<6>.strictly_increasing()).init();
    thread::scope(|scope| {
        for worker in 1..=2 {
            scope.spawn(move || (1..=3).for_each(|job| tracing::info!(worker, job, "done")));
        }
    });
}
