//! The plots of a run as SVG. The program that displays the SVG supplies the fonts.
//!
//! The first panel shows all clocks, the second one tach alone, whose errors are too small to see
//! beside the others, and the third one the error of the counter's frequency.

use core::ops::Range;

use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{PathElement, Text};
use plotters::prelude::{IntoDrawingArea, SVGBackend};
use plotters::series::LineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoFont, IntoTextStyle, RGBColor, WHITE};

use super::calibration::Calibration;
use super::series::Series;

const SIZE: (u32, u32) = (1400, 1300);
const MARGIN: i32 = 16;
/// The width of the space for the names of the lines.
const LEGEND: i32 = 236;
/// The height of a letter in labels and in captions.
const LABEL: u32 = 20;
const CAPTION: u32 = 26;

/// Colours that people with any colour vision distinguish (Okabe and Ito).
const BLUE: RGBColor = RGBColor(0, 114, 178);
const SKY: RGBColor = RGBColor(86, 180, 233);
const ORANGE: RGBColor = RGBColor(230, 159, 0);
const VERMILION: RGBColor = RGBColor(213, 94, 0);
const PURPLE: RGBColor = RGBColor(204, 121, 167);

/// A step that is this many times longer than the usual one is a gap.
const GAP: f64 = 10.0;

#[derive(Debug)]
struct Panel {
    caption: &'static str,
    y_label: String,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    name: &'static str,
    color: RGBColor,
    points: Vec<(f64, f64)>,
}

/// Returns the text of the plots.
pub(super) fn svg(all: &[Series], calibration: &Calibration) -> anyhow::Result<String> {
    let line = |&(name, color): &(&'static str, RGBColor)| {
        let points = all.iter().find(|one| one.name == name).map(Series::points);
        Line { name, color, points: points.unwrap_or_default() }
    };
    let every = [("anchored", PURPLE), ("minstant", ORANGE), ("quanta", VERMILION), ("tach", BLUE)];
    let every = every.iter().map(line).collect();
    let ours = [("tach", BLUE), ("tach Unix time", SKY)].iter().map(line).collect();
    let points = calibration.errors.clone();
    let calibrated = vec![Line { name: "counter", color: PURPLE, points }];
    let mut panels = [
        panel("Error against the OS clock: clocks with the counter's rate", "", every),
        panel("Error against the OS clocks: tach alone", "", ours),
        // A nanosecond a second is a part in a billion.
        panel("Error of the counter's frequency, measured for that time", " a second", calibrated),
    ];
    let points = panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
    let (x_unit, length) = unit_of_time(points.fold(0.0, |max, (x, _)| x.max(max)));
    let lines = panels.iter_mut().flat_map(|panel| &mut panel.lines);
    lines.flat_map(|line| &mut line.points).for_each(|(x, _)| *x /= length);
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        for (part, panel) in area.split_evenly((panels.len(), 1)).iter().zip(&panels) {
            draw(part, panel, &format!("time since the start in {x_unit}"))?;
        }
        area.present()?;
    }
    Ok(text)
}

/// Returns a panel of errors in ns, in a unit that keeps their numbers short.
fn panel(caption: &'static str, per: &str, mut lines: Vec<Line>) -> Panel {
    let points = lines.iter().flat_map(|line| &line.points);
    let (unit, length) = unit_of_error(points.fold(0.0, |max, (_, y)| y.abs().max(max)));
    lines.iter_mut().flat_map(|line| &mut line.points).for_each(|(_, y)| *y /= length);
    Panel { caption, y_label: format!("error in {unit}{per}"), lines }
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

fn draw(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    panel: &Panel,
    x_label: &str,
) -> anyhow::Result<()> {
    let font = |size: u32| ("sans-serif", size).into_font();
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    let mut chart = ChartBuilder::on(area)
        .caption(panel.caption, font(CAPTION))
        .margin(MARGIN)
        .margin_right(LEGEND)
        .x_label_area_size(56)
        .y_label_area_size(96)
        .build_cartesian_2d(
            // Begin at zero: otherwise the first label would overlap one of the other axis.
            range(points().map(|point| point.0).chain([0.0]), 0.03),
            range(points().map(|point| point.1), 0.08),
        )?;
    chart
        .configure_mesh()
        .x_desc(x_label)
        .y_desc(&panel.y_label)
        .label_style(font(LABEL))
        .axis_desc_style(font(LABEL))
        .bold_line_style(BLACK.mix(0.15))
        .max_light_lines(0)
        .x_labels(8)
        .y_labels(7)
        .draw()?;
    for line in &panel.lines {
        // Draw thin lines: wider ones have pointed joins, which look like values that were never
        // measured.
        let style = line.color.stroke_width(1);
        for run in runs(&line.points) {
            // Draw a point for a single comparison, since a line needs two.
            let size = u32::from(run.len() == 1);
            chart.draw_series(LineSeries::new(run.to_vec(), style).point_size(size))?;
        }
    }
    // Draw the legend beside the lines, where it hides none of them.
    let left = i32::try_from(area.dim_in_pixel().0).unwrap_or(i32::MAX) - LEGEND + 2 * MARGIN;
    for (line, y) in panel.lines.iter().zip((3 * MARGIN..).step_by(28)) {
        let style = line.color.stroke_width(4);
        area.draw(&PathElement::new(vec![(left, y), (left + 24, y)], style))?;
        let label = font(LABEL).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(line.name, (left + 32, y), label))?;
    }
    Ok(())
}

/// Returns the points between the gaps, run by run. In a gap all comparisons were interrupted, so
/// nobody knows the error there.
fn runs(points: &[(f64, f64)]) -> impl Iterator<Item = &[(f64, f64)]> {
    let mut steps: Vec<_> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    steps.sort_by(f64::total_cmp);
    let usual = steps.get(steps.len() / 2).copied().unwrap_or_default();
    points.chunk_by(move |one, next| next.0 - one.0 <= GAP * usual)
}

/// Returns the range of the values, wider by `margin` of its length at each end, and never empty.
fn range(values: impl Iterator<Item = f64> + Clone, margin: f64) -> Range<f64> {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return 0.0..1.0;
    }
    let length = high - low;
    let margin = if length > 0.0 { length * margin } else { 1.0 };
    low - margin..high + margin
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::series::tests::series;
    use crate::measure::as_f64;

    /// A text of an SVG: its horizontal and its vertical range.
    fn place(attributes: &str, text: &str) -> [Range<f64>; 2] {
        let value = |name: &str| {
            let (_, rest) = attributes.split_once(&format!("{name}=\"")).unwrap();
            rest.split_once('"').unwrap().0
        };
        let number = |name: &str| value(name).parse::<f64>().unwrap();
        let height = number("font-size");
        // The width of a digit in a wide font.
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

    /// Returns the plot of a run of `seconds` whose errors are up to `error_ns`.
    fn plot(seconds: f64, error_ns: f64) -> String {
        let errors = (0..).zip([-error_ns, error_ns / 3.0, 0.0, error_ns]);
        let points: Vec<_> =
            errors.map(|(step, error)| (seconds / 3.0 * f64::from(step), error, 20)).collect();
        let all = ["tach", "quanta", "anchored"].map(|name| series(name, &points));
        svg(&all, &Calibration::new(&all[2], 1e9)).unwrap()
    }

    #[test]
    fn a_gap_is_no_line() {
        let points: Vec<_> = [0, 1, 2, 3, 30, 31, 60].map(|at| (f64::from(at), 0.0)).to_vec();
        let lengths: Vec<_> = runs(&points).map(<[_]>::len).collect();
        assert_eq!(lengths, [4, 2, 1]);
        assert_eq!(runs(&[]).count(), 0);
    }

    #[test]
    fn no_label_is_printed_over_another_one() {
        let lengths = [1e-6, 9e-4, 0.07, 3.0, 100.0, 4e4];
        for (seconds, exponent) in lengths.into_iter().flat_map(|s| (0..17).map(move |e| (s, e))) {
            for factor in [1.0, 1.37, 9.99] {
                let error_ns = factor * 10_f64.powi(exponent) / 1e3;
                // No clock runs a thousand times too fast.
                if error_ns > seconds * 1e12 {
                    continue;
                }
                let svg = plot(seconds, error_ns);
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
                    assert!(is_inside, "{text} of {seconds} s and {error_ns} ns");
                    for (other, [other_x, other_y]) in &texts[..at] {
                        let are_apart = !meet(x, other_x) || !meet(y, other_y);
                        assert!(are_apart, "{text}, {other} of {seconds} s, {error_ns} ns");
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

    #[test]
    fn a_range_is_never_empty() {
        assert_eq!(range([1.0, 3.0, 2.0].into_iter(), 0.5), 0.0..4.0);
        assert_eq!(range([5.0, 5.0].into_iter(), 0.1), 4.0..6.0);
        assert_eq!(range([].into_iter(), 0.1), 0.0..1.0);
    }
}
