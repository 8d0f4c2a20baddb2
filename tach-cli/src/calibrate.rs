//! `tach calibrate`: the counter's frequency by several methods, and the error of each.

use core::time::Duration;
use std::thread;
use std::time::Instant as StdInstant;

use clap::Args;
use serde::Serialize;
use tach_core::{Instant, adapter, status};

use crate::Outcome;
use crate::measure::{Bracket, OsMonotonic, as_f64, slope};
use crate::output::{Output, Table, Width, faint, heading, paragraph};
use crate::progress::Progress;
use crate::times;

/// The number of brackets for a point, which is the narrowest of them.
const ATTEMPTS: u32 = 16;
/// The times over which a rate is measured by two points, as clocks do at their start.
const SPINS: [(&str, Duration); 4] = [
    ("spin for 0.1 ms", Duration::from_micros(100)),
    ("spin for 1 ms", Duration::from_millis(1)),
    ("spin for 10 ms", Duration::from_millis(10)),
    ("spin for 100 ms", Duration::from_millis(100)),
];
/// The number of points of the regression.
const POINTS: u32 = 1000;
const SHORTEST: Duration = Duration::from_millis(1);

/// Measures the counter's frequency by several methods
///
/// The reference is the rate between the first and the last point of the whole run, whose own error
/// is in the output.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long to measure. A longer run has a better reference
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = times::time_for_regression)]
    time: Duration,
}

/// A reading of the counter, and the OS clock's time in ns at that reading.
type Point = Bracket<u64>;

fn point(os: OsMonotonic) -> Point {
    Bracket::narrowest(ATTEMPTS, || os.ns(), || Instant::now().as_ticks())
}

pub(crate) fn run(options: &Options, output: &mut Output) -> anyhow::Result<Outcome> {
    let os = OsMonotonic::new();
    let progress = Progress::new(options.time);
    let spins: Vec<_> = SPINS.map(|(name, time)| (name, spin(os, time))).into();
    let mut points = vec![point(os)];
    let start = StdInstant::now();
    let pause = (options.time / POINTS).max(SHORTEST);
    loop {
        let elapsed = start.elapsed();
        progress.set(elapsed, "points for the regression");
        let left = options.time.saturating_sub(elapsed);
        if left.is_zero() {
            break;
        }
        thread::sleep(pause.min(left));
        points.push(point(os));
    }
    drop(progress);
    let steered_hz = status().frequency_hz;
    let found = Calibration::new(&spins, &points, adapter::cpu_counter().declared_hz, steered_hz);
    output.write(&found, |width| found.text(width))?;
    Ok(Outcome::Good)
}

/// Returns the first and the last point of a time.
fn spin(os: OsMonotonic, time: Duration) -> (Point, Point) {
    let (first, begin) = (point(os), StdInstant::now());
    while begin.elapsed() < time {
        core::hint::spin_loop();
    }
    (first, point(os))
}

/// The frequencies by method.
#[derive(Debug, Serialize)]
struct Calibration {
    source: &'static str,
    seconds: f64,
    points: usize,
    reference_hz: f64,
    /// The reference is known to within this.
    reference_bound_ppb: f64,
    methods: Vec<Method>,
}

#[derive(Debug, Serialize)]
struct Method {
    name: &'static str,
    /// `null` if neither the CPU nor the hypervisor declares a frequency.
    hz: Option<f64>,
    /// The difference from the reference.
    error_ppb: Option<f64>,
}

impl Calibration {
    fn new(
        spins: &[(&'static str, (Point, Point))],
        points: &[Point],
        declared_hz: Option<u64>,
        steered_hz: Option<u64>,
    ) -> Self {
        let (first, last) = (&points[0], &points[points.len() - 1]);
        let reference_hz = hz(first, last);
        let ns = as_f64(last.os_ns.saturating_sub(first.os_ns)).max(1.0);
        let method = |name, hz: Option<f64>| {
            let error_ppb = hz.map(|hz| (hz / reference_hz - 1.0) * 1e9);
            Method { name, hz, error_ppb }
        };
        let mut methods = vec![method("declared by the CPU", declared_hz.map(as_f64))];
        methods.extend(spins.iter().map(|(name, (a, b))| method(name, Some(hz(a, b)))));
        methods.push(method("regression over the run", Some(regression(points))));
        methods.push(method("tach's timeline", steered_hz.map(as_f64)));
        Self {
            source: status().source.as_str(),
            seconds: ns / 1e9,
            points: points.len(),
            reference_hz,
            reference_bound_ppb: as_f64(first.width_ns + last.width_ns) / 2.0 / ns * 1e9,
            methods,
        }
    }
}

/// Returns the frequency between two points.
fn hz(first: &Point, last: &Point) -> f64 {
    let ns = as_f64(last.os_ns.saturating_sub(first.os_ns)).max(1.0);
    as_f64(last.reading.saturating_sub(first.reading)) / ns * 1e9
}

/// Returns the frequency of the line that fits the points best. Points that were interrupted are
/// left out.
fn regression(points: &[Point]) -> f64 {
    let narrowest = points.iter().map(|point| point.width_ns).min().unwrap_or(0).max(1);
    let narrow = points.iter().filter(|point| point.width_ns <= narrowest.saturating_mul(2));
    // From the first point on, so that both numbers are small enough to be exact.
    let first = &points[0];
    let relative: Vec<_> = narrow
        .map(|point| {
            let ns = as_f64(point.os_ns.saturating_sub(first.os_ns));
            (ns, as_f64(point.reading.saturating_sub(first.reading)))
        })
        .collect();
    slope(&relative) * 1e9
}

impl Calibration {
    fn text(&self, width: Width) -> String {
        let of = if self.source == "os" { "the OS clock's ticks" } else { "the CPU's counter" };
        let mut table = Table::new(["method", "MHz", "error in ppb"]);
        for Method { name, hz, error_ppb } in &self.methods {
            let figures = match (hz, error_ppb) {
                (Some(hz), Some(ppb)) => [format!("{:.6}", hz / 1e6), format!("{ppb:+.1}")],
                _ => ["none", "-"].map(str::to_owned),
            };
            table.row([(*name).to_owned()].into_iter().chain(figures));
        }
        let Self { reference_hz, reference_bound_ppb, seconds, points, .. } = self;
        let note = format!(
            "reference: {:.6} MHz ± {reference_bound_ppb:.1} ppb, over {seconds:.1} s and {points} \
             points",
            reference_hz / 1e6
        );
        [
            heading(format!("frequency of {of}")).to_string(),
            table.text(width),
            faint(paragraph(&note, width)).to_string(),
        ]
        .join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(os_ns: u64, reading: u64, width_ns: u64) -> Point {
        Bracket { reading, os_ns, width_ns }
    }

    #[test]
    fn each_method_has_its_error() {
        // 2.5 GHz; one point in the middle was interrupted.
        let points =
            [at(0, 7, 20), at(1_000, 2_507, 20), at(1_500, 9_999, 41), at(2_000, 5_007, 40)];
        let spins = [("spin", (at(0, 0, 20), at(100, 251, 20)))];
        let found = Calibration::new(&spins, &points, Some(2_500_000_025), None);
        assert!((found.reference_hz - 2.5e9).abs() < 1.0, "{found:?}");
        assert!((found.reference_bound_ppb - 15_000_000.0).abs() < 1.0, "{found:?}");
        let errors: Vec<_> =
            found.methods.iter().map(|method| method.error_ppb.map(f64::round)).collect();
        assert_eq!(errors, [Some(10.0), Some(4_000_000.0), Some(0.0), None]);
        let shown = found.text(Width::MOST);
        assert!(shown.contains("2500.000000 MHz ±") && shown.contains("none"), "{shown}");
    }
}
