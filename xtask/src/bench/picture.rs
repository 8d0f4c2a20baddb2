//! README's picture: errors of clocks and costs of calls, as bars, from the records of one host.

use core::fmt::Write as _;
use std::path::PathBuf;

use super::record::Record;
use crate::files;
use crate::run::root;

const FILE: &str = "docs/costs.svg";

/// A group of bars: one column of a record's table, or its first figure.
struct Panel {
    title: &'static str,
    unit: Unit,
    benchmark: &'static str,
    table: &'static str,
    column: &'static str,
    /// Where the 99th percentile stands, if the label says it.
    p99: Option<Figure>,
    rows: &'static [&'static str],
}

/// A figure of a row: a column, and its place among the column's figures.
#[derive(Clone, Copy)]
struct Figure {
    column: &'static str,
    at: usize,
}

/// The unit of a panel's figures in the record.
#[derive(Clone, Copy)]
enum Unit {
    Nanoseconds,
    Percent,
}

const PANELS: [Panel; 5] = [
    Panel {
        title: "Greatest error of a clock within an hour, against the OS clock",
        unit: Unit::Nanoseconds,
        benchmark: "truth",
        table: "error of a clock",
        column: "greatest",
        p99: None,
        rows: &["tach", "quanta", "minstant"],
    },
    Panel {
        title: "Logging an event to a file: the caller's median and 99th percentile",
        unit: Unit::Nanoseconds,
        benchmark: "pipeline",
        table: "calls of a logger",
        column: "bursts p50 / p99 / p99.9",
        p99: Some(Figure { column: "bursts p50 / p99 / p99.9", at: 1 }),
        rows: &[
            "tach log, JSON",
            "tach tracing, JSON",
            "slog-json behind slog-async",
            "spdlog-rs, asynchronous, text",
            "tracing JSON through tracing-appender",
        ],
    },
    Panel {
        title: "CPU time of the whole process with 10,000 such events a second",
        unit: Unit::Percent,
        benchmark: "whole-process",
        table: "CPU time of a process",
        column: "10000/s",
        p99: None,
        rows: &[
            "tach log, JSON",
            "tach tracing, JSON",
            "slog-json behind slog-async",
            "spdlog-rs, asynchronous, text",
            "tracing JSON through tracing-appender",
        ],
    },
    Panel {
        title: "Two spans and an event to a collector: the caller's median and 99th percentile",
        unit: Unit::Nanoseconds,
        benchmark: "spans",
        table: "spans on their way to a collector",
        column: "p50",
        p99: Some(Figure { column: "p99", at: 0 }),
        rows: &["tach", "fastrace", "tracing-opentelemetry"],
    },
    Panel {
        title: "Reading the clock",
        unit: Unit::Nanoseconds,
        benchmark: "clocks",
        table: "now()",
        column: "a call",
        p99: None,
        rows: &["tach Instant", "minstant Instant", "quanta Instant", "std Instant"],
    },
];

/// The colors of a page with a dark background, for each color of the picture.
const DARK: [(&str, &str); 5] = [
    ("#ffffff", "#0d1117"),
    ("#1f2328", "#e6edf3"),
    ("#57606a", "#9198a1"),
    ("#0969da", "#4493f8"),
    ("#8c959f", "#6e7681"),
];

const WIDTH: usize = 880;
const BAR_START: f64 = 310.0;
const LONGEST_BAR: f64 = 390.0;
const ROW: usize = 26;
/// A title, and the space above it.
const TITLE: usize = 44;

/// Writes the picture, if one host has all records for it.
pub(super) fn write(records: &[Record]) -> Result<(), String> {
    drawn(records)?.map_or(Ok(()), |picture| files::write(&path(), &picture))
}

/// Fails if the file is not the picture of the records.
pub(super) fn check(records: &[Record]) -> Result<(), String> {
    let Some(picture) = drawn(records)? else { return Ok(()) };
    if files::read(&path())? == picture {
        return Ok(());
    }
    Err(format!("{FILE} differs from the records: cargo xtask bench --tables"))
}

fn path() -> PathBuf {
    root().join(FILE)
}

/// Returns the picture of the first host that has a record for each panel.
fn drawn(records: &[Record]) -> Result<Option<String>, String> {
    let of = |panel: &Panel, cpu: &str| {
        records.iter().find(|record| record.name == format!("{}-{cpu}", panel.benchmark))
    };
    let of_host = records.iter().find_map(|record| {
        let cpu = record.name.strip_prefix(PANELS[0].benchmark)?.strip_prefix('-')?;
        PANELS.iter().map(|panel| of(panel, cpu)).collect::<Option<Vec<_>>>()
    });
    of_host.map(|records| draw(&records)).transpose()
}

/// Draws the panels, each from its record.
fn draw(records: &[&Record]) -> Result<String, String> {
    let mut body = String::new();
    let mut top = 0;
    for (panel, record) in PANELS.iter().zip(records) {
        top += TITLE;
        text(&mut body, 20, top - 12, "font-weight=\"600\"", panel.title);
        let median = Figure { column: panel.column, at: 0 };
        let figures = panel.rows.iter().map(|row| panel.figure(median, row, record));
        let figures = figures.collect::<Result<Vec<_>, _>>()?;
        let longest = figures.iter().copied().fold(0.0, f64::max);
        for (name, figure) in panel.rows.iter().zip(figures) {
            bar(&mut body, top, name, &panel.label(name, figure, record)?, figure / longest);
            top += ROW;
        }
    }
    let circumstances = records[0].circumstances();
    text(&mut body, 20, top + 28, "fill=\"#57606a\" font-size=\"12\"", &circumstances);
    let height = top + 44;
    let dark = DARK.map(|(light, dark)| format!("[fill=\"{light}\"]{{fill:{dark}}}\n")).concat();
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" font-family=\"system-ui, sans-serif\" \
         font-size=\"14\" fill=\"#1f2328\" role=\"img\" aria-labelledby=\"title\">\n\
         <title id=\"title\">Errors and costs of tach and of others; BENCHMARKS.md has the tables.\
         </title>\n<style>@media (prefers-color-scheme: dark) {{\n{dark}}}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" rx=\"8\" fill=\"#ffffff\"/>\n\
         {body}</svg>\n"
    ))
}

impl Panel {
    /// Returns the figure in words, with the 99th percentile behind it where the panel has one.
    fn label(&self, row: &str, figure: f64, record: &Record) -> Result<String, String> {
        let label = self.unit.label(figure);
        let Some(p99) = self.p99 else { return Ok(label) };
        let p99 = self.unit.label(self.figure(p99, row, record)?);
        Ok(format!("{label}, p99 {p99}"))
    }

    fn figure(&self, figure: Figure, row: &str, record: &Record) -> Result<f64, String> {
        let table = record.tables.iter().find(|table| table.name == self.table);
        let cell = table.and_then(|table| table.figures(row, figure.column));
        let figures = cell.and_then(|figures| figures.get(figure.at).copied());
        figures.ok_or_else(|| {
            format!("{FILE}: {} has no \"{} | {row} | {}\"", record.name, self.table, figure.column)
        })
    }
}

impl Unit {
    fn label(self, figure: f64) -> String {
        match self {
            Self::Percent => format!("{figure:.1} %"),
            Self::Nanoseconds if figure < 10.0 => format!("{figure:.1} ns"),
            Self::Nanoseconds if figure < 1e4 => format!("{figure:.0} ns"),
            Self::Nanoseconds if figure < 1e6 => format!("{:.0} µs", figure / 1e3),
            Self::Nanoseconds => format!("{:.1} ms", figure / 1e6),
        }
    }
}

fn bar(body: &mut String, top: usize, name: &str, label: &str, part: f64) {
    let fill = if name.starts_with("tach") { "#0969da" } else { "#8c959f" };
    let width = (part * LONGEST_BAR).max(1.0);
    text(body, 20, top + 16, "", name);
    let _never_fails = writeln!(
        body,
        "<rect x=\"{BAR_START}\" y=\"{}\" width=\"{width:.0}\" height=\"18\" fill=\"{fill}\"/>",
        top + 2,
    );
    let end = BAR_START + width + 8.0;
    let _never_fails = writeln!(body, "<text x=\"{end:.0}\" y=\"{}\">{label}</text>", top + 16);
}

fn text(body: &mut String, x: usize, y: usize, attributes: &str, text: &str) {
    let space = if attributes.is_empty() { "" } else { " " };
    let _never_fails = writeln!(body, "<text x=\"{x}\" y=\"{y}\"{space}{attributes}>{text}</text>");
}

#[cfg(test)]
mod tests {
    use bench_tables::{Table, column};

    use super::super::record::tests::record;
    use super::*;

    /// Returns a record for each panel, whose figures are 100, 200 and so on.
    fn records(cpu: &str) -> Vec<Record> {
        let of_panel = |panel: &Panel| {
            let columns = [column(panel.column, "ns", 0), column("p99", "ns", 0)];
            let mut table = Table::new(panel.table, columns);
            for (row, figure) in panel.rows.iter().zip(1..) {
                table.row(row, [vec![f64::from(figure) * 100.0, 7.0], vec![8.0]]);
            }
            record(&format!("{}-{cpu}", panel.benchmark), vec![table])
        };
        PANELS.iter().map(of_panel).collect()
    }

    #[test]
    fn a_picture_has_the_figures_of_one_host() {
        let picture = drawn(&records("a")).unwrap().unwrap();
        let bars = PANELS.iter().map(|panel| panel.rows.len()).sum::<usize>();
        assert_eq!(picture.matches("height=\"18\"").count(), bars);
        // The longest bar of each panel.
        assert_eq!(picture.matches("width=\"390\"").count(), PANELS.len());
        assert!(picture.contains(">300 ns</text>") && !picture.contains(">7"), "{picture}");
        assert_eq!(picture.matches(", p99 7.0 ns</text>").count(), 5, "{picture}");
        assert_eq!(picture.matches(", p99 8.0 ns</text>").count(), 3, "{picture}");
        assert!(picture.contains(">500.0 %</text>"), "{picture}");
    }

    #[test]
    fn a_figure_has_the_unit_that_people_read_best() {
        let figures = [8.78, 19.0, 2163.0, 572_538.0, 3_500_084.0];
        let labels = figures.map(|figure| Unit::Nanoseconds.label(figure));
        assert_eq!(labels, ["8.8 ns", "19 ns", "2163 ns", "573 µs", "3.5 ms"]);
    }

    #[test]
    fn without_all_records_of_a_host_there_is_none() {
        let mut few = records("a");
        few.pop();
        assert_eq!(drawn(&few).unwrap(), None);
        few.extend(records("b").pop());
        assert_eq!(drawn(&few).unwrap(), None);
    }

    #[test]
    fn a_row_that_is_not_there_is_named() {
        let mut records = records("a");
        records[0].tables[0].rows.remove(0);
        let problem = drawn(&records).unwrap_err();
        assert_eq!(
            problem,
            "docs/costs.svg: truth-a has no \"error of a clock | tach | greatest\""
        );
    }

    #[test]
    fn the_file_is_the_picture() {
        check(&super::super::record::all().unwrap()).unwrap();
    }
}
