//! The flight recorder: the last spans and events of a service, with a panic in one of its tasks.
//!
//! ```text
//! cargo run --example flight_recorder -- flight
//! ```
//!
//! writes two files to the folder `flight`: one after the panic, and one since a request was slow.
//! Stderr names them. Open them in <https://ui.perfetto.dev>.

use core::error::Error;
use core::time::Duration;
use std::env;

use tach_pipeline::{FlightFormat, FlightRecorder, Pipeline, Sink};
use tokio::time::sleep;
use tracing::{Instrument as _, debug, debug_span, info, info_span};

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).unwrap_or_else(|| "flight".to_owned());
    let recorder = FlightRecorder::new()
        .folder(folder, FlightFormat::trace_events())
        .on_panic()
        .span_slower_than("request", Duration::from_millis(100));
    Pipeline::builder()
        .filter("warn,flight_recorder=debug")
        // The recorder has the debug records too.
        .sink(Sink::stderr().filter("warn"))
        .flight_recorder(recorder)
        .init()?;
    info!("ready");
    let requests = (0..8).map(|id| tokio::spawn(request(id).instrument(info_span!("request", id))));
    for request in requests.collect::<Vec<_>>() {
        if request.await.is_err() {
            info!("a request panicked");
        }
    }
    Ok(())
}

async fn request(id: u64) {
    query(id).instrument(debug_span!("query", table = "users")).await;
    render(id);
    if id == 3 {
        sleep(Duration::from_millis(150)).await;
    }
}

async fn query(id: u64) {
    sleep(Duration::from_millis(5 * id)).await;
    debug!(rows = id, "read");
}

/// Spans of code that does not wait are on their threads' tracks.
#[tracing::instrument]
fn render(id: u64) {
    let total: u64 = info_span!("sum").in_scope(|| (0..100_000).map(|step| step ^ id).sum());
    debug!(total);
    assert!(id != 5, "the fifth request can't be rendered");
}
