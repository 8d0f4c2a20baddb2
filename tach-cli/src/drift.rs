//! `tach drift`: the error of clocks against the OS over time.
//!
//! `clocks` compares each clock with the OS's, `series` keeps and summarizes the comparisons,
//! `calibration` derives the counter's frequency from them, and `plot` draws both.

mod calibration;
mod clocks;
mod plot;
mod series;

use core::hint::black_box;
use core::time::Duration;
use std::io::Write as _;
use std::path::PathBuf;
use std::thread;
use std::time::Instant as StdInstant;

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;
use tach_core::MonotonicInstant;

use self::calibration::Calibration;
pub(crate) use self::clocks::ours;
pub(crate) use self::series::{Series, Summary, measure};
use crate::output::{Ns, Output, faint, heading};
use crate::{Outcome, interrupt, time};

/// The number of comparisons, as far as the pauses between them allow.
const COMPARISONS: u32 = 1200;
const SHORTEST: Duration = Duration::from_millis(5);
/// The longest pause. Ctrl-C is noticed only after a pause.
const LONGEST: Duration = Duration::from_secs(1);
const LONGEST_SLEEP_US: u64 = 2_000_000;

/// Measures the error of clocks against the OS clock over time
///
/// tach's two timelines, quanta, minstant, and a counter with a rate that is measured once at the
/// start. A positive error is a clock that is ahead. Also measures the counter's frequency. Ctrl-C
/// ends the measurement early.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long to measure
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = time)]
    time: Duration,
    /// Starts this number of threads, which work and sleep at random and read tach's clock
    #[arg(long, value_name = "THREADS", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    load: u16,
    /// Draws the errors over time, and the error of the counter's frequency by the time in which it
    /// is measured, into a file, which ends with .svg
    #[arg(long, value_name = "FILE", value_parser = svg)]
    plot: Option<PathBuf>,
}

/// Parses the path of a plot.
fn svg(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_svg = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
    is_svg.then_some(path).ok_or_else(|| "the file's name must end with .svg".to_owned())
}

#[derive(Debug, Serialize)]
struct Report {
    seconds: f64,
    clocks: Vec<Summary>,
    calibration: Calibration,
}

pub(crate) fn run(options: &Options, output: Output) -> anyhow::Result<Outcome> {
    if let Some(path) = &options.plot {
        // Fail now rather than after a long measurement. An older plot stays as it is.
        tach_files::check_create(path)
            .with_context(|| format!("can't create {}", path.display()))?;
    }
    interrupt::note()?;
    let time = humantime::format_duration(options.time);
    writeln!(anstream::stderr(), "measures for {time}; Ctrl-C ends it early")?;
    let (clocks, plain_hz) = clocks::all();
    let pause = (options.time / COMPARISONS).clamp(SHORTEST, LONGEST);
    let series = thread::scope(|scope| {
        for number in 1..=options.load {
            scope.spawn(move || work(number.into(), options.time));
        }
        measure(&clocks, options.time, pause)
    });
    let calibration = Calibration::new(&series[series.len() - 1], plain_hz);
    if let Some(path) = &options.plot {
        let plot = plot::svg(&series, &calibration)?;
        let mut file =
            tach_files::create(path).with_context(|| format!("can't create {}", path.display()))?;
        file.write_all(plot.as_bytes())
            .with_context(|| format!("can't write {}", path.display()))?;
    }
    let clocks: Vec<_> = series.iter().map(Series::summary).collect();
    let report = Report { seconds: clocks[0].seconds, clocks, calibration };
    output.write(&report, || report.text())?;
    Ok(Outcome::Good)
}

/// Works, reads tach's clock and sleeps at random. `random` is the seed.
fn work(mut random: u64, time: Duration) {
    let start = StdInstant::now();
    while start.elapsed() < time && !interrupt::was_pressed() {
        for _ in 0..next(&mut random) % 100_000 {
            black_box(MonotonicInstant::now());
        }
        // All orders of magnitude are equally likely.
        let sleep_us = (LONGEST_SLEEP_US >> (next(&mut random) % 21)).max(1);
        thread::sleep(Duration::from_micros(next(&mut random) % sleep_us));
    }
}

/// Returns the next random number (xorshift).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

impl Report {
    fn text(&self) -> String {
        let title = format!("error against the OS clock over {:.1} s", self.seconds);
        let names = "clock                median    greatest  at the end  drift in ppb";
        let mut lines = vec![heading(title).to_string(), names.to_owned()];
        lines.extend(self.clocks.iter().map(|clock| {
            let [median, max] = [clock.median_ns, clock.max_ns].map(Ns);
            let Summary { name, drift_ppb, last_ns, .. } = clock;
            let last = signed(*last_ns);
            format!("{name:<15}{median:>12}{max:>12}{last:>12}{drift_ppb:>+14.1}")
        }));
        let resolution = self.clocks.iter().map(|clock| clock.resolution_ns).fold(0.0, f64::max);
        let note = faint(format!("resolved to {}", Ns(resolution)));
        lines.push(format!("{note}\n\n{}", self.calibration.text()));
        lines.join("\n")
    }
}

/// A signed time for people: `+12.0 ns`.
fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "" } else { "+" };
    format!("{sign}{}", Ns(ns))
}
