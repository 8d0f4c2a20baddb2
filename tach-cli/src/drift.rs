//! `tach drift`: the error of clocks against the OS over time.
//!
//! `clocks` compares each clock with the OS's, `series` keeps and summarizes the comparisons, and
//! `picture` draws them. `load` compares from busy threads.

mod clocks;
mod load;
mod picture;
mod series;

use core::time::Duration;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::thread;
use std::time::Instant as StdInstant;

use anyhow::Context as _;
use clap::Args;

use self::clocks::clocks;
use self::load::Found;
use self::series::Series;
use crate::Outcome;
use crate::interrupt;
use crate::measure::as_f64;
use crate::output::{Ns, Output};
use crate::plot::Target;
use crate::progress::Progress;
use crate::times;

/// The number of comparisons, if the pause between them is not given.
const COMPARISONS: u32 = 1200;
const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(1);

/// Measures the error of clocks against the OS clock over time
///
/// tach's two timelines, quanta, minstant, and a counter with a rate that is measured once at the
/// start. A positive error is a clock that is ahead. Ctrl-C ends the measurement early.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long to measure
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = times::some_time)]
    time: Duration,
    /// The pause between comparisons [default: a 1200th of the time, from 5 ms to 1 s]
    #[arg(long, value_name = "TIME", value_parser = times::time)]
    every: Option<Duration>,
    /// Starts this number of threads, which work and sleep at random and compare tach's timelines
    /// with the OS in between. Exit status 1 if elapsed time goes back between them
    #[arg(long, value_name = "THREADS", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    load: u16,
    /// Draws the errors over time into a file, which ends with .svg
    #[arg(long, value_name = "FILE")]
    plot: Vec<Target>,
    /// Writes each comparison into a file: times in s, errors in ns
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

impl Options {
    fn pause(&self) -> Duration {
        self.every.unwrap_or_else(|| (self.time / COMPARISONS).clamp(SHORTEST, LONGEST))
    }
}

pub(crate) fn run(options: &Options, output: &mut Output) -> anyhow::Result<Outcome> {
    options.plot.iter().try_for_each(Target::check)?;
    interrupt::note()?;
    let (series, under_load) = thread::scope(|scope| {
        let under_load =
            (options.load > 0).then(|| scope.spawn(|| load::run(options.load, options.time)));
        let series = measure(options);
        let under_load = under_load.map(|thread| thread.join().expect("the threads end"));
        (series, under_load)
    });
    let series = series?;
    for target in &options.plot {
        target.write(&picture::chart(&series))?;
    }
    let went_back = under_load.as_ref().is_some_and(Found::went_back);
    let summary = series.summary(under_load);
    output.write(&summary, |width| summary.text(width))?;
    Ok(if went_back { Outcome::Problem } else { Outcome::Good })
}

/// Compares all clocks with the OS's now and then.
fn measure(options: &Options) -> anyhow::Result<Series> {
    let mut csv = match &options.csv {
        None => None,
        Some(path) => {
            let name = path.display();
            let file = tach_files::create(path).with_context(|| format!("can't create {name}"))?;
            Some((BufWriter::new(file), name))
        }
    };
    let clocks = clocks();
    let mut series = Series::new(clocks.iter().map(|clock| clock.name));
    if let Some((file, name)) = &mut csv {
        writeln!(file, "{}", series.header()).with_context(|| format!("can't write {name}"))?;
    }
    let progress = Progress::new(options.time);
    let start = StdInstant::now();
    loop {
        let elapsed = start.elapsed();
        let row = series.add(elapsed, clocks.iter().map(|clock| (clock.compare)()));
        if let Some((file, name)) = &mut csv {
            // Whoever interrupts the program keeps the comparisons so far.
            let written = writeln!(file, "{row}").and_then(|()| file.flush());
            written.with_context(|| format!("can't write {name}"))?;
        }
        progress.set(elapsed, row.live());
        let left = options.time.saturating_sub(start.elapsed());
        if left.is_zero() || interrupt::was_pressed() {
            return Ok(series);
        }
        thread::sleep(options.pause().min(left));
    }
}

/// A signed time for people: `+12.0 ns`.
fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "" } else { "+" };
    format!("{sign}{}", Ns(ns))
}

/// Returns the seconds of a duration, to a nanosecond.
fn seconds(duration: Duration) -> f64 {
    as_f64(crate::measure::nanos(duration)) / 1e9
}
