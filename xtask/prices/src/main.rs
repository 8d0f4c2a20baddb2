//! Runs the lines that the documentation recommends. `cargo xtask prices` counts their instructions
//! by callgrind, which knows them by the names of the functions in `records` and `spans`.

mod records;
#[cfg(feature = "service")]
mod service;
#[cfg(feature = "service")]
mod spans;

use core::error::Error;
use core::hint::black_box;
use core::time::Duration;
use std::{env, thread};

/// How often each line runs before it is counted: tables are created, and callsites registered.
const BEFORE: usize = 1_000;
/// After so many runs, the back end has time to read the queue.
const ROUND: usize = 100;
const PAUSE: Duration = Duration::from_millis(5);

fn main() -> Result<(), Box<dyn Error>> {
    let times = env::args().nth(1).ok_or("how often?")?.parse()?;
    #[cfg(not(feature = "service"))]
    tach_pipeline::init()?;
    #[cfg(feature = "service")]
    service::install()?;
    run(BEFORE);
    counted();
    run(times);
    Ok(())
}

/// What came before does not count. `cargo xtask prices` has the name.
#[inline(never)]
fn counted() {
    black_box(());
}

fn run(times: usize) {
    each(times, records::ready);
    each(times, records::argument);
    each(times, records::two_keys);
    #[cfg(feature = "service")]
    {
        each(times, spans::unit);
        each(times, spans::request);
        each(times, spans::root);
        let entered = tracing::info_span!(parent: None, "request").entered();
        each(times, spans::child);
        drop(entered);
    }
}

fn each(times: usize, line: fn(usize)) {
    for number in 0..times {
        if number % ROUND == 0 {
            thread::sleep(PAUSE);
        }
        line(number);
    }
}
