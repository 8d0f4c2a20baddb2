//! Goes one way through tach-pipeline 20 times. `cargo xtask ways` runs it below callgrind, which
//! counts from the first call of [`calls`].

use core::time::Duration;
use std::fs::File;
use std::io::{self, Write};
use std::{env, thread};

use tach_pipeline::{Otlp, Pipeline, Signal, Sink};

const CALLS: u32 = 20;
const FIRST_ROUNDS: u32 = 40;
/// Long enough for the back end to pass all records on.
const PAUSE: Duration = Duration::from_millis(300);
const BETWEEN_ROUNDS: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(30);
/// Nobody listens there. Spans wait for the collector.
const NOBODY: &str = "http://127.0.0.1:1";

fn main() {
    let mut arguments = env::args().skip(1);
    let mut argument = || arguments.next().expect("a way, and a file for the records");
    let way = argument();
    let file = File::create(argument()).expect("a file for the records");
    let mut builder = Pipeline::builder().sink(Sink::writer("file", Marked(file)));
    let call = match &*way {
        "log" => log,
        "span" => {
            let otlp = Otlp::new().endpoint(NOBODY).signals([Signal::Traces]);
            builder = builder.sink(Sink::otlp(otlp));
            span
        }
        way => panic!("no such way: {way}"),
    };
    let pipeline = builder.without_flush_at_exit().init().expect("the pipeline starts");
    // What only the first calls do is not counted: a ring grows until it holds what a round takes,
    // and the clock's first lines are short, so that a time is looked for in those of the past.
    for _ in 0..FIRST_ROUNDS {
        (0..CALLS).for_each(call);
        // With a collector, a flush would only wait.
        if way == "log" {
            thread::sleep(BETWEEN_ROUNDS);
            pipeline.flush(LONG).expect("the records are written");
        }
    }
    (0..CALLS).for_each(call);
    calls(call);
    thread::sleep(PAUSE);
}

/// Marks where the writer is flushed. The back end itself flushes a pipeline's only sink.
struct Marked(File);

impl Write for Marked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        written();
        self.0.flush()
    }
}

/// What came before on the back end's thread does not count. `cargo xtask ways` has the name.
#[inline(never)]
fn written() {}

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
