//! The tables of the benchmarks. A benchmark prints them as Markdown, `cargo xtask bench` keeps
//! them as JSON, and BENCHMARKS.md has them from there.

mod arguments;

use core::fmt;
use std::{env, fs};

use serde::{Deserialize, Serialize};

pub use self::arguments::Arguments;

/// The environment variable that names the file for a benchmark's tables.
pub const FILE: &str = "TACH_BENCH_TABLES";

/// Figures of one benchmark. Its name is the heading of the first column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The name, unique within the benchmark.
    pub name: String,
    /// The columns of figures.
    pub columns: Vec<Column>,
    /// The rows, each with a cell for each column.
    pub rows: Vec<Row>,
}

/// The heading of a column, and how its figures are printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The name. In a column of several figures it is divided by " / ", as they are.
    pub name: String,
    /// The unit, or nothing for a ratio or a number.
    pub unit: String,
    /// How many decimals are kept.
    pub decimals: usize,
}

/// The figures of one subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The subject.
    pub name: String,
    /// The figures of each column: none if there is none to have.
    pub cells: Vec<Vec<f64>>,
}

/// Returns a column.
#[must_use]
pub fn column(name: &str, unit: &str, decimals: usize) -> Column {
    Column { name: name.to_owned(), unit: unit.to_owned(), decimals }
}

impl Table {
    /// Creates a table without rows.
    #[must_use]
    pub fn new(name: &str, columns: impl Into<Vec<Column>>) -> Self {
        Self { name: name.to_owned(), columns: columns.into(), rows: Vec::new() }
    }

    /// Adds a row, with figures rounded to the decimals of their columns. Leaves out figures that
    /// are not finite.
    ///
    /// # Panics
    ///
    /// If there is not one cell for each column.
    pub fn row(&mut self, name: &str, cells: impl Into<Vec<Vec<f64>>>) {
        let mut cells = cells.into();
        assert_eq!(cells.len(), self.columns.len(), "cells of \"{name}\"");
        for (cell, column) in cells.iter_mut().zip(&self.columns) {
            cell.retain(|figure| figure.is_finite());
            for figure in cell {
                let rounded = format!("{figure:.*}", column.decimals);
                *figure = rounded.parse().expect("it was a number");
            }
        }
        self.rows.push(Row { name: name.to_owned(), cells });
    }

    /// Returns a cell as it is printed, or `None` if there is no such row or column.
    #[must_use]
    pub fn cell(&self, row: &str, column: &str) -> Option<String> {
        let (column, figures) = self.found(row, column)?;
        Some(column.printed(figures))
    }

    /// Returns the figures of a cell, or `None` if there is no such row or column.
    #[must_use]
    pub fn figures(&self, row: &str, column: &str) -> Option<&[f64]> {
        Some(self.found(row, column)?.1)
    }

    fn found(&self, row: &str, column: &str) -> Option<(&Column, &[f64])> {
        let row = self.rows.iter().find(|one| one.name == row)?;
        let at = self.columns.iter().position(|one| one.name == column)?;
        Some((&self.columns[at], row.cells.get(at)?))
    }
}

impl Column {
    fn printed(&self, cell: &[f64]) -> String {
        let figures = cell.iter().map(|figure| grouped(&format!("{figure:.*}", self.decimals)));
        figures.collect::<Vec<_>>().join(" / ")
    }
}

/// Prints Markdown, with tach's own rows in bold.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} |", self.name)?;
        for Column { name, unit, .. } in &self.columns {
            let comma = if unit.is_empty() { "" } else { ", " };
            write!(f, " {name}{comma}{unit} |")?;
        }
        write!(f, "\n|---|{}", "---|".repeat(self.columns.len()))?;
        for Row { name, cells } in &self.rows {
            let bold = if name.starts_with("tach") { "**" } else { "" };
            write!(f, "\n| {bold}{name}{bold} |")?;
            for (column, cell) in self.columns.iter().zip(cells) {
                let cell = column.printed(cell);
                write!(f, "{}{cell} |", if cell.is_empty() { "" } else { " " })?;
            }
        }
        Ok(())
    }
}

/// Divides the digits before the point in threes, if there are more than four.
fn grouped(figure: &str) -> String {
    let digits = figure.split('.').next().unwrap_or_default().trim_start_matches('-').len();
    let start = figure.len() - figure.trim_start_matches('-').len();
    let mut grouped = String::new();
    for (at, character) in figure.chars().enumerate() {
        let left = (start + digits).saturating_sub(at);
        if digits > 4 && at > start && left > 0 && left % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(character);
    }
    grouped
}

/// Returns the figures of a text that divides them by " / ".
///
/// # Panics
///
/// If one is not a number.
#[must_use]
pub fn figures(text: &str) -> Vec<f64> {
    text.split(" / ").map(|figure| figure.parse().expect("a number")).collect()
}

/// The tables of one run.
#[derive(Debug, Default)]
pub struct Report(Vec<Table>);

impl Report {
    /// Creates a report without tables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Prints a table and keeps it.
    #[expect(clippy::print_stdout, reason = "tables are the output of benchmarks")]
    pub fn table(&mut self, table: Table) {
        println!("{table}\n");
        self.0.push(table);
    }

    /// Writes the tables to the file that [`FILE`] names, if it names one.
    ///
    /// # Panics
    ///
    /// If the file can't be written.
    pub fn end(self) {
        let Some(path) = env::var_os(FILE) else { return };
        let text = serde_json::to_string(&self.0).expect("tables are JSON");
        fs::write(path, text).expect("the file can be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns = [column("p50 / p99", "ns", 0), column("ratio", "", 2)];
        let mut table = Table::new("now()", columns);
        table.row("std", [vec![23.4, 12_345.6], vec![1.0]]);
        table.row("tach Instant", [vec![8.0], vec![f64::INFINITY]]);
        table
    }

    #[test]
    fn a_table_prints_as_markdown() {
        let expected = "| now() | p50 / p99, ns | ratio |\n|---|---|---|\n\
                        | std | 23 / 12,346 | 1.00 |\n| **tach Instant** | 8 | |";
        assert_eq!(table().to_string(), expected);
    }

    #[test]
    fn json_keeps_what_is_printed() {
        let text = serde_json::to_string(&table()).unwrap();
        assert!(text.contains("12346"), "{text}");
        assert_eq!(serde_json::from_str::<Table>(&text).unwrap(), table());
    }

    #[test]
    fn a_cell_is_found_by_its_row_and_column() {
        let table = table();
        assert_eq!(table.cell("std", "ratio").as_deref(), Some("1.00"));
        assert_eq!(table.cell("tach Instant", "ratio").as_deref(), Some(""));
        assert_eq!(table.figures("std", "p50 / p99"), Some([23.0, 12_346.0].as_slice()));
        assert_eq!(table.cell("std", "p50"), None);
        assert_eq!(table.cell("quanta", "ratio"), None);
    }

    #[test]
    fn only_long_numbers_are_grouped() {
        let numbers = ["8.25", "9999.5", "10000", "1234567.25", "-10000"].map(grouped);
        assert_eq!(numbers, ["8.25", "9999.5", "10,000", "1,234,567.25", "-10,000"]);
    }
}
