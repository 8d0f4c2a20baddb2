//! The errors over time as a chart: all clocks, and tach alone, whose errors are too small to see
//! beside the others.

use plotters::style::RGBColor;

use super::series::Series;
use crate::plot::{BLUE, Chart, Line, ORANGE, PURPLE, Panel, SKY, VERMILION};

const OURS: [(&str, RGBColor); 2] = [("tach", BLUE), ("tach Unix time", SKY)];
const ALL: [(&str, RGBColor); 4] =
    [("anchored", PURPLE), ("minstant", ORANGE), ("quanta", VERMILION), ("tach", BLUE)];

pub(super) fn chart(series: &Series) -> Chart {
    let (x_unit, x_length) = unit_of_time(series.seconds());
    let panel = |caption: &str, clocks: &[(&'static str, RGBColor)]| {
        let all: Vec<_> =
            clocks.iter().map(|(name, color)| (*name, *color, series.points(name))).collect();
        let points = all.iter().flat_map(|(_, _, points)| points);
        let (y_unit, y_length) =
            unit_of_error(points.fold(0.0, |max, point| point.1.abs().max(max)));
        let lines = all.into_iter().map(|(name, color, points)| {
            let points = points.iter().map(|(x, y)| (x / x_length, y / y_length)).collect();
            Line { name, color, points }
        });
        Panel {
            caption: caption.to_owned(),
            y_label: format!("error in {y_unit}"),
            lines: lines.collect(),
        }
    };
    Chart {
        x_label: format!("time since the start in {x_unit}"),
        panels: vec![
            panel("Error against the OS clock: clocks with the counter's rate", &ALL),
            panel("Error against the OS clocks: tach alone", &OURS),
        ],
    }
}

/// Returns the unit for times up to `seconds`, and its length in s.
fn unit_of_time(seconds: f64) -> (&'static str, f64) {
    match seconds {
        ..180.0 => ("s", 1.0),
        180.0..10_800.0 => ("min", 60.0),
        _ => ("h", 3600.0),
    }
}

/// Returns the unit for errors up to `ns`, and its length in ns.
fn unit_of_error(ns: f64) -> (&'static str, f64) {
    match ns {
        ..3_000.0 => ("ns", 1.0),
        3_000.0..3_000_000.0 => ("µs", 1e3),
        _ => ("ms", 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_keep_numbers_readable() {
        let times = [1.0, 179.0, 180.0, 10_800.0].map(|seconds| unit_of_time(seconds).0);
        assert_eq!(times, ["s", "s", "min", "h"]);
        let errors = [0.0, 2_999.0, 3_000.0, 4e6].map(|ns| unit_of_error(ns).0);
        assert_eq!(errors, ["ns", "ns", "µs", "ms"]);
    }
}
