//! The comparisons of all clocks over time, and their summary.

use core::fmt;
use core::fmt::Write as _;
use core::time::Duration;

use serde::Serialize;

use super::clocks::Comparison;
use super::load::Found;
use super::{seconds, signed};
use crate::measure::{as_f64, slope};
use crate::output::{Ns, Table, Width, faint, heading, paragraph};

/// A bracket that is wider than the clock's narrowest by this factor was probably interrupted.
const WIDE: u64 = 3;
const NS_PER_S: f64 = 1e9;

#[derive(Debug)]
pub(super) struct Series {
    names: Vec<&'static str>,
    times: Vec<Duration>,
    /// The comparisons of each clock.
    compared: Vec<Vec<Comparison>>,
}

/// The comparisons of one moment. Its `Display` is a line of CSV.
#[derive(Debug)]
pub(super) struct Row<'a> {
    names: &'a [&'static str],
    time: Duration,
    compared: Vec<Comparison>,
}

impl Series {
    pub(super) fn new(names: impl Iterator<Item = &'static str>) -> Self {
        let names: Vec<_> = names.collect();
        let compared = names.iter().map(|_| Vec::new()).collect();
        Self { names, times: Vec::new(), compared }
    }

    /// Returns the first line of the CSV.
    pub(super) fn header(&self) -> String {
        let mut header = "seconds".to_owned();
        for name in &self.names {
            let name = name.to_lowercase().replace(' ', "_");
            let _ = write!(header, ",{name}_error_ns,{name}_bracket_ns");
        }
        header
    }

    /// Adds the comparison of each clock, and returns them.
    pub(super) fn add(
        &mut self,
        time: Duration,
        compared: impl Iterator<Item = Comparison>,
    ) -> Row<'_> {
        self.times.push(time);
        let compared: Vec<_> = compared.collect();
        for (all, one) in self.compared.iter_mut().zip(&compared) {
            all.push(*one);
        }
        Row { names: &self.names, time, compared }
    }

    /// Returns the seconds and the error of each comparison of a clock that nothing interrupted.
    pub(super) fn points(&self, name: &str) -> Vec<(f64, f64)> {
        let index = self.names.iter().position(|own| *own == name);
        let Some(compared) = index.map(|index| &self.compared[index]) else { return Vec::new() };
        let narrowest = compared.iter().map(|one| one.width_ns).min().unwrap_or(0);
        let limit = narrowest.max(1).saturating_mul(WIDE);
        let all = self.times.iter().zip(compared).filter(|(_, one)| one.width_ns <= limit);
        all.map(|(time, one)| (seconds(*time), one.error_ns)).collect()
    }

    pub(super) fn seconds(&self) -> f64 {
        self.times.last().map_or(0.0, |time| seconds(*time))
    }

    pub(super) fn summary(&self, under_load: Option<Found>) -> Summary {
        Summary {
            seconds: self.seconds(),
            comparisons: self.times.len(),
            clocks: self.names.iter().filter_map(|name| self.of(name)).collect(),
            under_load,
        }
    }

    /// Returns the summary of a clock, or `None` if it was not compared.
    fn of(&self, name: &'static str) -> Option<ClockSummary> {
        let index = self.names.iter().position(|own| *own == name)?;
        let resolution_ns =
            as_f64(self.compared[index].iter().map(|one| one.width_ns).min()?) / 2.0;
        let points = self.points(name);
        let mut sizes: Vec<_> = points.iter().map(|(_, error_ns)| error_ns.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        Some(ClockSummary {
            name,
            comparisons: points.len(),
            median_ns: *sizes.get(sizes.len() / 2)?,
            max_ns: *sizes.last()?,
            last_ns: points.last()?.1,
            drift_ppb: slope(&points) / NS_PER_S * 1e9,
            resolution_ns,
        })
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9}", seconds(self.time))?;
        self.compared.iter().try_for_each(|one| write!(f, ",{},{}", one.error_ns, one.width_ns))
    }
}

impl Row<'_> {
    /// Returns the errors as one line for people.
    pub(super) fn live(&self) -> String {
        let each = self.names.iter().zip(&self.compared);
        let each = each.map(|(name, one)| format!("{name} {}", signed(one.error_ns)));
        each.collect::<Vec<_>>().join("  ")
    }
}

/// The summary of a run. Errors are the clock minus the OS clock.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    seconds: f64,
    comparisons: usize,
    clocks: Vec<ClockSummary>,
    /// The findings of the busy threads.
    under_load: Option<Found>,
}

#[derive(Debug, Serialize)]
struct ClockSummary {
    name: &'static str,
    /// Comparisons that nothing interrupted.
    comparisons: usize,
    median_ns: f64,
    max_ns: f64,
    /// The error at the end, with its sign.
    last_ns: f64,
    /// The slope of the errors, in ns per s.
    drift_ppb: f64,
    /// Half the width of the narrowest bracket: no error is known better.
    resolution_ns: f64,
}

impl Summary {
    pub(super) fn text(&self, width: Width) -> String {
        let title = format!("error against the OS clock over {:.1} s", self.seconds);
        let mut table = Table::new(["clock", "median", "greatest", "at the end", "drift in ppb"]);
        for clock in &self.clocks {
            let [median, max] = [clock.median_ns, clock.max_ns].map(|ns| Ns(ns).to_string());
            let drift = format!("{:+.1}", clock.drift_ppb);
            table.row([clock.name.to_owned(), median, max, signed(clock.last_ns), drift]);
        }
        let resolution = self.clocks.iter().map(|clock| clock.resolution_ns).fold(0.0, f64::max);
        let note = format!("{} comparisons, resolved to {}", self.comparisons, Ns(resolution));
        let note = faint(paragraph(&note, width));
        let title = heading(paragraph(&title, width));
        let text = format!("{title}\n{}\n{note}", table.text(width));
        let Some(found) = &self.under_load else { return text };
        let title = heading("tach's timelines on busy threads");
        format!("{text}\n\n{title}\n{}", found.text(width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(error_ns: f64, width_ns: u64) -> Comparison {
        Comparison { error_ns, width_ns }
    }

    fn series() -> Series {
        let mut series = Series::new(["tach", "a b"].into_iter());
        for (second, errors) in (0..).zip([[1.0, 0.0], [-3.0, 1000.0], [900.0, 2000.0]]) {
            let width = if errors[0] > 100.0 { 61 } else { 20 };
            let time = Duration::from_secs(second);
            series.add(time, [one(errors[0], width), one(errors[1], 30)].into_iter());
        }
        series
    }

    #[test]
    fn interrupted_comparisons_are_left_out() {
        let series = series();
        assert_eq!(series.points("tach"), [(0.0, 1.0), (1.0, -3.0)]);
        assert_eq!(series.points("nobody"), []);
        let summary = series.summary(None);
        assert_eq!((summary.comparisons, summary.clocks[0].comparisons), (3, 2));
        assert_eq!(summary.clocks[0].max_ns.to_bits(), 3.0_f64.to_bits());
        assert_eq!(summary.clocks[0].last_ns.to_bits(), (-3.0_f64).to_bits());
    }

    #[test]
    fn the_drift_is_the_slope_in_parts_per_billion() {
        let drift = series().summary(None).clocks[1].drift_ppb;
        assert!((drift - 1000.0).abs() < 1e-6, "{drift}");
    }

    #[test]
    fn a_row_has_a_column_for_each_of_the_headers() {
        let mut series = series();
        let header = series.header();
        assert_eq!(header, "seconds,tach_error_ns,tach_bracket_ns,a_b_error_ns,a_b_bracket_ns");
        let row = series.add(Duration::from_millis(1500), [one(-2.5, 40), one(7.0, 3)].into_iter());
        assert_eq!(row.to_string(), "1.500000000,-2.5,40,7,3");
        assert_eq!(row.live(), "tach -2.5 ns  a b +7.0 ns");
    }
}
