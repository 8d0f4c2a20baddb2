//! Texts and tables that fit the terminal.

use super::terminal::plain;

/// The number of columns that a line may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width(pub(crate) usize);

impl Width {
    /// The width of a page, and of the output for anything but a terminal. On a wider terminal
    /// lines would be hard to read.
    pub(crate) const MOST: Self = Self(100);
    /// Below this, words would stand alone.
    const LEAST: usize = 24;
    const NARROW: usize = 60;

    /// Returns the width for standard output.
    pub(crate) fn of_stdout() -> Self {
        let size = terminal_size::terminal_size_of(std::io::stdout());
        let columns = size.map(|(width, _)| usize::from(width.0)).filter(|&columns| columns > 0);
        Self(columns.unwrap_or(Self::MOST.0).clamp(Self::LEAST, Self::MOST.0))
    }

    /// Returns `wide` blanks for lines that continue another one, or fewer on a narrow terminal.
    fn indent(self, wide: usize) -> usize {
        if self.0 < Self::NARROW { wide.min(4) } else { wide }
    }
}

/// Breaks `text` between words. The first line follows `start`; later ones begin after `indent`
/// blanks, or after fewer on a narrow terminal. A word that is longer than a line is not broken,
/// and a number stays with its unit.
pub(crate) fn hanging(start: &str, text: &str, indent: usize, width: Width) -> String {
    let indent = width.indent(indent);
    let mut lines = start.to_owned();
    let mut column = length(start);
    let mut is_first = true;
    for word in words(text) {
        let more = length(&word);
        if is_first {
            is_first = false;
        } else if column + 1 + more > width.0 {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            column = indent;
        } else {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(&word);
        column += more;
    }
    lines
}

/// Returns the words of a text. A unit is part of the word before it.
fn words(text: &str) -> Vec<String> {
    const UNITS: [&str; 8] = ["ns", "µs", "ms", "s", "h", "days", "MHz", "ppb"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let shown = plain(word);
        let is_unit = UNITS.contains(&shown.trim_end_matches(|end: char| !end.is_alphabetic()));
        match words.last_mut() {
            Some(number) if is_unit && number.ends_with(|end: char| end.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Breaks a text that stands alone.
pub(crate) fn paragraph(text: &str, width: Width) -> String {
    hanging("", text, 0, width)
}

/// Returns the columns that a text takes, without the codes of colours.
fn length(text: &str) -> usize {
    plain(text).chars().count()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of cells below headings. If the terminal is too narrow for a row, each cell of a row has a
/// line of its own.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table without rows. The first column has the names of the rows, and the others
    /// have figures.
    pub(crate) fn new<T: Into<String>>(headings: impl IntoIterator<Item = T>) -> Self {
        let align = |index| if index == 0 { Align::Left } else { Align::Right };
        let headings = headings.into_iter().enumerate();
        let columns = headings.map(|(index, heading)| (heading.into(), align(index)));
        Self { columns: columns.collect(), rows: Vec::new() }
    }

    /// Adds a column of words.
    pub(crate) fn words(mut self, heading: &str) -> Self {
        self.columns.push((heading.to_owned(), Align::Left));
        self
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(crate) fn text(&self, width: Width) -> String {
        let widths: Vec<_> = (0..self.columns.len()).map(|index| self.column(index)).collect();
        let whole = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        if whole <= width.0 { self.side_by_side(&widths) } else { self.one_below_another(width) }
    }

    fn column(&self, index: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(index));
        cells.map(|cell| length(cell)).chain([length(&self.columns[index].0)]).max().unwrap_or(0)
    }

    fn side_by_side(&self, widths: &[usize]) -> String {
        let line = |cells: &[&str]| {
            let cells = cells.iter().zip(widths).zip(&self.columns);
            let cells: Vec<_> = cells
                .map(|((cell, width), (_, align))| {
                    let blanks = " ".repeat(width - length(cell));
                    match align {
                        Align::Left => format!("{cell}{blanks}"),
                        Align::Right => format!("{blanks}{cell}"),
                    }
                })
                .collect();
            let line = cells.join("  ");
            line.trim_end().to_owned()
        };
        let headings: Vec<_> = self.columns.iter().map(|(heading, _)| &**heading).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| &**cell).collect::<Vec<_>>());
        [headings].into_iter().chain(rows).map(|cells| line(&cells)).collect::<Vec<_>>().join("\n")
    }

    fn one_below_another(&self, width: Width) -> String {
        let others = || self.columns.iter().skip(1);
        let longest = others().map(|(heading, _)| length(heading)).max().unwrap_or(0);
        let mut lines = Vec::new();
        for row in &self.rows {
            lines.extend(row.first().map(|name| hanging("", name, 2, width)));
            for ((heading, _), cell) in others().zip(row.iter().skip(1)) {
                if !cell.is_empty() {
                    let start = format!("  {heading:<longest$}  ");
                    lines.push(hanging(&start, cell, 4, width));
                }
            }
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::faint;

    #[test]
    fn a_text_is_broken_between_words() {
        let text = "one two three four";
        assert_eq!(hanging("  a: ", text, 5, Width(13)), "  a: one two\n    three\n    four");
        assert_eq!(hanging("", text, 2, Width(100)), text);
        assert_eq!(
            hanging("", "a anewwordthatislong b", 1, Width(8)),
            "a\n anewwordthatislong\n b"
        );
        assert_eq!(hanging("x ", "", 3, Width(9)), "x ");
        assert_eq!(
            hanging("", "takes 38.6 ns, or 4 µs: so", 0, Width(10)),
            "takes\n38.6 ns,\nor 4 µs:\nso"
        );
        let wide = hanging("          ", "word ".repeat(12).trim_end(), 10, Width(61));
        assert!(wide.lines().count() == 2 && wide.ends_with("\n          word word"), "{wide}");
    }

    #[test]
    fn colours_take_no_columns() {
        let text = format!("aa {} bb", faint("cc dd"));
        assert_eq!(plain(&hanging("", &text, 0, Width(8))), "aa cc dd\nbb");
    }

    fn table() -> Table {
        let mut table = Table::new(["clock", "reads", "M/s"]).words("order");
        table.row(
            ["tach", "12", "3.4"].map(str::to_owned).into_iter().chain([faint("kept").to_string()]),
        );
        table.row(["std", "1234567", "", "promised"]);
        table
    }

    #[test]
    fn a_table_has_columns_where_they_fit() {
        let expected = "clock    reads  M/s  order\n\
                        tach        12  3.4  kept\n\
                        std    1234567       promised";
        assert_eq!(plain(&table().text(Width(29))), expected);
    }

    #[test]
    fn a_table_has_lines_where_columns_do_not_fit() {
        let expected = "tach\n  reads  12\n  M/s    3.4\n  order  kept\n\
                        std\n  reads  1234567\n  order  promised";
        assert_eq!(plain(&table().text(Width(28))), expected);
    }
}
