//! README's picture: errors of clocks and costs of calls, as bars, from the records of one host.

use core::fmt::Write as _;
use std::path::PathBuf;

use super::record::Record;
use crate::files;
use crate::run::root;

const FILE: &str = "docs/costs.svg";

/// A group of bars: the first figure of a row each, with the row's figures behind it as the table
/// prints them. So all panels have the units of their tables.
struct Panel {
    title: &'static str,
    benchmark: &'static str,
    table: &'static str,
    columns: &'static [&'static str],
    rows: &'static [&'static str],
}

const PANELS: [Panel; 5] = [
    Panel {
        title: "Greatest error of a clock within an hour, against the OS clock",
        benchmark: "truth",
        table: "error of a clock",
        columns: &["greatest"],
        rows: &["tach", "quanta", "minstant"],
    },
    Panel {
        title: "Logging an event to a file: the caller's p50 / p99 / p99.9",
        benchmark: "pipeline",
        table: "calls of a logger",
        columns: &["bursts p50 / p99 / p99.9"],
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
        benchmark: "whole-process",
        table: "CPU time of a process",
        columns: &["10000/s"],
        rows: &[
            "tach log, JSON",
            "tach tracing, JSON",
            "slog-json behind slog-async",
            "spdlog-rs, asynchronous, text",
            "tracing JSON through tracing-appender",
        ],
    },
    Panel {
        title: "Two spans and an event to a collector: the caller's p50 / p99",
        benchmark: "spans",
        table: "spans on their way to a collector",
        columns: &["p50", "p99"],
        rows: &["tach", "fastrace", "tracing-opentelemetry"],
    },
    Panel {
        title: "Reading the clock",
        benchmark: "clocks",
        table: "now()",
        columns: &["a call"],
        rows: &["tach Instant", "minstant Instant", "quanta Instant", "std Instant"],
    },
];

/// The colors of a page with a dark background, for each color of the picture.
const DARK: [(&str, &str); 5] = [
    ("#ffffff", "#0d1117"),
    ("#1f2328", "#e6edf3"),
    ("#57606a", "#9198a1"),
    (OWN, "#4493f8"),
    (OTHER, "#6e7681"),
];

/// The colors of tach's bars and of the others'.
const OWN: &str = "#0969da";
const OTHER: &str = "#8c959f";

const WIDTH: usize = 880;
const BAR_START: f64 = 310.0;
const LONGEST_BAR: f64 = 390.0;
const ROW: usize = 26;
/// A title, and the space above it.
const TITLE: usize = 44;
/// The line that says which color is tach's.
const LEGEND: usize = 24;

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
    let mut top = LEGEND;
    legend(&mut body, 20, OWN, "tach");
    legend(&mut body, 90, OTHER, "others");
    for (panel, record) in PANELS.iter().zip(records) {
        top += TITLE;
        text(&mut body, 20, top - 12, "font-weight=\"600\"", panel.title);
        let bars = panel.rows.iter().map(|row| panel.bar(row, record));
        let bars = bars.collect::<Result<Vec<_>, _>>()?;
        let longest = bars.iter().map(|(figure, _)| *figure).fold(0.0, f64::max);
        for (name, (figure, label)) in panel.rows.iter().zip(bars) {
            bar(&mut body, top, name, &label, figure / longest);
            top += ROW;
        }
    }
    let dates = records.iter().map(|record| record.date.as_str());
    let (first, last) = (dates.clone().min().unwrap_or_default(), dates.max().unwrap_or_default());
    let circumstances = format!("{}, {first} to {last}", records[0].circumstances());
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
    /// Returns the figure that a row's bar shows, and the row's figures with their unit.
    fn bar(&self, row: &str, record: &Record) -> Result<(f64, String), String> {
        let table = record.tables.iter().find(|table| table.name == self.table);
        let found = |column: &str| {
            let table = table?;
            let figure = *table.figures(row, column)?.first()?;
            let unit = &table.columns.iter().find(|one| one.name == column)?.unit;
            Some((figure, table.cell(row, column)?, unit))
        };
        let cells = self.columns.iter().map(|column| {
            found(column).ok_or_else(|| {
                format!("{FILE}: {} has no \"{} | {row} | {column}\"", record.name, self.table)
            })
        });
        let cells = cells.collect::<Result<Vec<_>, _>>()?;
        let texts: Vec<_> = cells.iter().map(|(_, text, _)| text.as_str()).collect();
        let (figure, _, unit) = cells[0];
        Ok((figure, format!("{} {unit}", texts.join(" / "))))
    }
}

fn legend(body: &mut String, x: usize, fill: &str, name: &str) {
    let _never_fails =
        writeln!(body, "<rect x=\"{x}\" y=\"14\" width=\"12\" height=\"12\" fill=\"{fill}\"/>");
    text(body, x + 20, 25, "", name);
}

fn bar(body: &mut String, top: usize, name: &str, label: &str, part: f64) {
    let fill = if name.starts_with("tach") { OWN } else { OTHER };
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

    /// Returns a record for each panel, whose figures are 5000, 10,000 and so on.
    fn records(cpu: &str) -> Vec<Record> {
        let of_panel = |panel: &Panel| {
            let columns: Vec<_> = panel.columns.iter().map(|name| column(name, "ns", 0)).collect();
            let mut table = Table::new(panel.table, columns);
            for (row, figure) in panel.rows.iter().zip(1..) {
                let mut cells = vec![vec![7.0]; panel.columns.len()];
                cells[0] = vec![f64::from(figure) * 5000.0, 8.0];
                table.row(row, cells);
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
        // The longest bar of each panel has the full width.
        assert_eq!(picture.matches("width=\"390\"").count(), PANELS.len());
        assert!(picture.contains(">5000 / 8 ns</text>"), "{picture}");
        assert_eq!(picture.matches(">15,000 / 8 / 7 ns</text>").count(), 1, "{picture}");
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
