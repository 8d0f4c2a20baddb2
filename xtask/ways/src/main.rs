//! Goes one way through tach-pipeline 20 times. `cargo xtask ways` runs it below callgrind, which
//! counts from the first call of [`calls`].

use core::mem;
use core::time::Duration;
use std::{env, thread};

use tach_pipeline::{Otlp, Pipeline, Signal, Sink};

const CALLS: u32 = 20;
const FIRST_CALLS: u32 = 400;
/// Long enough for the back end to pass all records on.
const PAUSE: Duration = Duration::from_millis(300);
/// Nobody listens there. Spans wait for the collector.
const NOBODY: &str = "http://127.0.0.1:1";

fn main() {
    let mut arguments = env::args().skip(1);
    let mut argument = || arguments.next().expect("a way, and a file for the records");
    let way = argument();
    let mut builder = Pipeline::builder().sink(Sink::file(argument()));
    let call = match &*way {
        "log" => log,
        "span" => {
            let otlp = Otlp::new().endpoint(NOBODY).signals([Signal::Traces]);
            builder = builder.sink(Sink::otlp(otlp));
            span
        }
        way => panic!("no such way: {way}"),
    };
    let guard = builder.without_flush_at_exit().init().expect("the pipeline starts");
    // What only the first calls do is not counted: a ring grows until it holds what a round takes.
    (0..FIRST_CALLS).for_each(call);
    calls(call);
    thread::sleep(PAUSE);
    mem::forget(guard);
}

/// The calls that callgrind counts. `cargo xtask ways` has the name.
#[inline(never)]
fn calls(call: fn(u32)) {
    (0..CALLS).for_each(call);
}

fn log(number: u32) {
    log::info!("record {number}");
}

fn span(number: u32) {
    let span = tracing::info_span!("span", number);
    span.in_scope(|| tracing::info!(number, "event"));
}
