//! A service that SIGTERM ends: everything is written first, and the process ends by the signal.
//!
//! ```text
//! cargo run --example signals &
//! kill $!
//! ```
//!
//! A service that handles signals itself, for example by tokio's `signal`, returns from `main`
//! instead, which does the same.

use core::time::Duration;
use std::thread;

use tach_pipeline::{Pipeline, Sink};

fn main() -> Result<(), tach_pipeline::Error> {
    // The long interval shows what a signal would lose: by default it is 5 ms. After the first
    // record the pipeline's thread naps for so long.
    let builder = Pipeline::builder().sink(Sink::stdout()).flush_interval(Duration::from_secs(1));
    builder.init()?;
    for number in 1..=50 {
        log::info!(number; "served");
        thread::sleep(Duration::from_millis(1));
    }
    eprintln!("waits for a signal");
    // Stands for `axum::serve(listener, app).await`, which never returns.
    loop {
        thread::park();
    }
}
