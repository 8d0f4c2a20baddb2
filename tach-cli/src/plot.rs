//! Plots as SVG. The program that shows them has the fonts.

use core::fmt;
use core::ops::Range;
use core::str::FromStr;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{PathElement, Text};
use plotters::prelude::{DrawingBackend, IntoDrawingArea, SVGBackend};
use plotters::series::LineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoFont, IntoTextStyle, RGBColor, WHITE};

const SIZE: (u32, u32) = (1400, 900);
const MARGIN: i32 = 16;
/// The width of the space for the names of the lines.
const LEGEND: i32 = 236;
/// The height of a letter in labels and in captions.
const LABEL: u32 = 20;
const CAPTION: u32 = 26;

/// Colours that people with any colour vision distinguish (Okabe and Ito).
pub(crate) const BLUE: RGBColor = RGBColor(0, 114, 178);
pub(crate) const SKY: RGBColor = RGBColor(86, 180, 233);
pub(crate) const ORANGE: RGBColor = RGBColor(230, 159, 0);
pub(crate) const VERMILION: RGBColor = RGBColor(213, 94, 0);
pub(crate) const PURPLE: RGBColor = RGBColor(204, 121, 167);

/// Panels, one below the other, with one horizontal axis.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) x_label: String,
    pub(crate) panels: Vec<Panel>,
}

#[derive(Debug)]
pub(crate) struct Panel {
    pub(crate) caption: String,
    pub(crate) y_label: String,
    pub(crate) lines: Vec<Line>,
}

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) color: RGBColor,
    pub(crate) points: Vec<(f64, f64)>,
}

/// The path of a plot. It ends with `.svg`.
#[derive(Debug, Clone)]
pub(crate) struct Target(PathBuf);

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("svg") => Ok(Self(path)),
            _ => Err("the file's name must end with .svg".to_owned()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl Target {
    /// Fails if the plot can't be written, so that this is known before a long measurement. Leaves
    /// an older plot as it is.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        tach_files::check_create(&self.0).with_context(|| format!("can't create {self}"))
    }

    pub(crate) fn write(&self, chart: &Chart) -> anyhow::Result<()> {
        let text = svg(chart)?;
        let mut file =
            tach_files::create(&self.0).with_context(|| format!("can't create {self}"))?;
        file.write_all(text.as_bytes()).with_context(|| format!("can't write {self}"))
    }
}

/// Returns the text of a plot.
pub(crate) fn svg(chart: &Chart) -> anyhow::Result<String> {
    let mut text = String::new();
    draw(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), chart)?;
    Ok(text)
}

fn draw<B: DrawingBackend>(area: &DrawingArea<B, Shift>, chart: &Chart) -> anyhow::Result<()> {
    let fault = |error: &dyn fmt::Display| anyhow!("can't draw the plot: {error}");
    area.fill(&WHITE).map_err(|error| fault(&error))?;
    for (part, panel) in area.split_evenly((chart.panels.len(), 1)).iter().zip(&chart.panels) {
        draw_panel(part, panel, &chart.x_label).map_err(|error| fault(&error))?;
    }
    area.present().map_err(|error| fault(&error))
}

fn draw_panel<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    panel: &Panel,
    x_label: &str,
) -> Result<(), plotters::drawing::DrawingAreaErrorKind<B::ErrorType>> {
    let font = |size: u32| ("sans-serif", size).into_font();
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.caption, font(CAPTION))
        .margin(MARGIN)
        .margin_right(LEGEND)
        .x_label_area_size(56)
        .y_label_area_size(96)
        .build_cartesian_2d(
            range(points().map(|point| point.0), 0.0),
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
        // Wider lines have pointed joins, which show values that are not there.
        let style = line.color.stroke_width(1);
        chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
    }
    // Beside the lines, where it hides none of them.
    let left = i32::try_from(area.dim_in_pixel().0).unwrap_or(i32::MAX) - LEGEND + 2 * MARGIN;
    for (line, y) in panel.lines.iter().zip((3 * MARGIN..).step_by(28)) {
        let style = line.color.stroke_width(4);
        area.draw(&PathElement::new(vec![(left, y), (left + 24, y)], style))?;
        let label = font(LABEL).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(line.name, (left + 32, y), label))?;
    }
    Ok(())
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

    #[test]
    fn a_range_is_never_empty() {
        assert_eq!(range([1.0, 3.0, 2.0].into_iter(), 0.5), 0.0..4.0);
        assert_eq!(range([5.0, 5.0].into_iter(), 0.1), 4.0..6.0);
        assert_eq!(range([].into_iter(), 0.1), 0.0..1.0);
    }

    #[test]
    fn a_plot_is_an_svg() {
        for name in ["a/b.svg", "b.SVG"] {
            assert_eq!(name.parse::<Target>().unwrap().to_string(), name);
        }
        for name in ["plot", "plot.pdf", ""] {
            assert!(name.parse::<Target>().unwrap_err().contains(".svg"), "{name}");
        }
    }
}
