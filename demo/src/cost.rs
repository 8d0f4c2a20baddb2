//! What a call costs its caller.

use core::time::Duration;
use std::fs::File;
use std::path::Path;
use std::thread;

use tach_core::Instant;
use tach_log::Line;
use tach_pipeline::{Pipeline, Sink};
use tracing::dispatcher::with_default;

use crate::{Failure, LONGEST};

const BURSTS: u32 = 100;
const CALLS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(2);

/// The medians of two ways to write the same event to a file.
pub(crate) struct Costs {
    pub(crate) tach: Duration,
    pub(crate) fmt: Duration,
}

/// Writes the same event by both ways, in turn and with pauses, as a service does.
pub(crate) fn compare(folder: &Path) -> Result<Costs, Failure> {
    let sink = Sink::file(folder.join("tach.log")).format(Line::tracing());
    let guard = Pipeline::builder().sink(sink).build()?;
    let own = tracing::Dispatch::new(guard.pipeline().subscriber());
    let file = File::create(folder.join("fmt.log"))?;
    let fmt = tracing_subscriber::fmt().with_ansi(false).with_writer(file).finish();
    let fmt = tracing::Dispatch::new(fmt);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..BURSTS {
        for (dispatch, times) in [&own, &fmt].into_iter().zip(&mut times) {
            with_default(dispatch, || burst(times));
            thread::sleep(PAUSE);
        }
    }
    guard.pipeline().flush(LONGEST)?;
    let [tach, fmt] = times.map(median);
    Ok(Costs { tach, fmt })
}

fn burst(times: &mut Vec<Duration>) {
    for number in 0..CALLS {
        let start = Instant::now();
        tracing::info!(number, path = "/users/7", "a request was answered");
        times.push(start.elapsed());
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
