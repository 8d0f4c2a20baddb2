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
        ..0.003 => ("µs", 1e-6),
        0.003..3.0 => ("ms", 1e-3),
        3.0..180.0 => ("s", 1.0),
        180.0..10_800.0 => ("min", 60.0),
        10_800.0..259_200.0 => ("h", 3600.0),
        _ => ("days", 86_400.0),
    }
}

/// Returns the unit for errors up to `ns`, and its length in ns.
fn unit_of_error(ns: f64) -> (&'static str, f64) {
    match ns {
        ..3e3 => ("ns", 1.0),
        3e3..3e6 => ("µs", 1e3),
        3e6..3e9 => ("ms", 1e6),
        3e9..1e13 => ("s", 1e9),
        _ => ("h", 3.6e12),
    }
}

#[cfg(test)]
mod tests {
    use core::ops::Range;
    use core::time::Duration;

    use super::*;
    use crate::drift::clocks::Comparison;
    use crate::measure::as_f64;
    use crate::plot;

    /// A text of an SVG: its horizontal and its vertical range.
    fn place(attributes: &str, text: &str) -> [Range<f64>; 2] {
        let value = |name: &str| {
            let (_, rest) = attributes.split_once(&format!("{name}=\"")).unwrap();
            rest.split_once('"').unwrap().0
        };
        let number = |name: &str| value(name).parse::<f64>().unwrap();
        let height = number("font-size");
        // A digit of a wide font.
        let length = 0.65 * height * as_f64(text.chars().count() as u64);
        let [x, y] = [number(" x"), number(" y")];
        let along = |at: f64| match value("text-anchor") {
            "start" => at..at + length,
            "middle" => at - length / 2.0..at + length / 2.0,
            _ => at - length..at,
        };
        let across = |at: f64| at - height / 2.0..at + height / 2.0;
        if attributes.contains("rotate") { [across(x), along(y)] } else { [along(x), across(y)] }
    }

    fn of(length: Duration, error_ns: f64) -> Series {
        let mut series = Series::new(["tach", "quanta"].into_iter());
        for (step, error_ns) in (0..).zip([-error_ns, error_ns / 3.0, 0.0, error_ns]) {
            let compared = Comparison { error_ns, width_ns: 20 };
            series.add(length / 3 * step, [compared, compared].into_iter());
        }
        series
    }

    #[test]
    fn no_label_is_printed_over_another_one() {
        let lengths = [1, 900, 70_000, 3_000_000, 100_000_000, 40_000_000_000_u64];
        for (length_us, exponent) in
            lengths.into_iter().flat_map(|us| (0..17).map(move |e| (us, e)))
        {
            for factor in [1.0, 1.37, 9.99] {
                let error_ns = factor * 10_f64.powi(exponent) / 1e3;
                let series = of(Duration::from_micros(length_us), error_ns);
                let svg = plot::svg(&chart(&series)).unwrap();
                let texts = svg.split("<text").skip(1).map(|rest| {
                    let (attributes, rest) = rest.split_once('>').unwrap();
                    let text = rest.split_once("</text>").unwrap().0.trim();
                    (text, place(attributes, text))
                });
                let texts: Vec<_> = texts.collect();
                assert!(texts.len() > 20, "{svg}");
                let meet = |a: &Range<f64>, b: &Range<f64>| a.start < b.end && b.start < a.end;
                for (at, (text, [x, y])) in texts.iter().enumerate() {
                    let is_inside = x.start >= 0.0 && x.end <= 1400.0;
                    assert!(is_inside, "{text} of {length_us} us and {error_ns} ns");
                    for (other, [other_x, other_y]) in &texts[..at] {
                        let are_apart = !meet(x, other_x) || !meet(y, other_y);
                        assert!(are_apart, "{text}, {other} of {length_us} us, {error_ns} ns");
                    }
                }
            }
        }
    }

    #[test]
    fn units_keep_numbers_readable() {
        let times = [0.002, 1.0, 179.0, 180.0, 10_800.0, 259_200.0];
        let times = times.map(|seconds| unit_of_time(seconds).0);
        assert_eq!(times, ["µs", "ms", "s", "min", "h", "days"]);
        let errors = [0.0, 2_999.0, 3_000.0, 4e6, 3e9, 2e13].map(|ns| unit_of_error(ns).0);
        assert_eq!(errors, ["ns", "ns", "µs", "ms", "s", "h"]);
    }
}
