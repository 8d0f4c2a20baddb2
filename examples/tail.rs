//! Traces for a collector: all with errors, all that are slow, and a hundredth of the others.
//!
//! ```text
//! OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 cargo run --example tail
//! ```
//!
//! sends eleven of a thousand traces, of which ten fail and one is slow, and some of the others.

use core::error::Error;
use core::time::Duration;
use std::thread;

use tach_pipeline::{Otlp, Pipeline, Signal, Sink, Tail};
use tracing::{error, info_span};

fn main() -> Result<(), Box<dyn Error>> {
    let otlp = Otlp::from_env().signals([Signal::Traces]);
    let tail = Tail::ratio(0.01).slower_than(Duration::from_millis(50));
    let pipeline = Pipeline::builder().sink(Sink::otlp(otlp)).tail(tail).init()?;

    for number in 0..1_000 {
        let _request = info_span!("request", number).entered();
        let _query = info_span!("query").entered();
        match number {
            500 => thread::sleep(Duration::from_millis(60)),
            number if number % 100 == 7 => error!("the database is gone"),
            _ => {}
        }
    }
    pipeline.flush(Duration::from_secs(5))?;
    Ok(())
}
