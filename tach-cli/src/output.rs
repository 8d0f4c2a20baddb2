//! The output: lines for people, with colours only on a terminal, or JSON for machines.

use core::fmt;
use std::io::{self, Write as _};

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Style};
use serde::Serialize;

/// The columns of a page, and of the output for anything but a terminal. On a wider terminal lines
/// would be hard to read.
const MOST_COLUMNS: usize = 100;

/// How results are written to standard output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    is_json: bool,
    /// The number of columns that a line may take.
    pub(crate) width: usize,
}

impl Output {
    pub(crate) fn new(is_json: bool) -> Self {
        let size = terminal_size::terminal_size_of(io::stdout());
        let columns = size.map(|(width, _)| usize::from(width.0)).filter(|&columns| columns > 0);
        Self { is_json, width: columns.unwrap_or(MOST_COLUMNS).min(MOST_COLUMNS) }
    }

    /// Writes `value` as a line of JSON if that was requested, otherwise its text.
    pub(crate) fn write(
        self,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        let text = if self.is_json { serde_json::to_string(value)? } else { text() };
        let mut stdout = anstream::stdout().lock();
        writeln!(stdout, "{text}")?;
        Ok(stdout.flush()?)
    }
}

/// Replaces control characters, which could drive the terminal that shows the text: set its title,
/// clear it, hide or reorder what follows.
pub(crate) fn harmless(text: &str) -> String {
    let reorders = |at| matches!(at, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_control = |at: char| at.is_control() && !"\n\t".contains(at);
    text.replace(|at| is_control(at) || reorders(at), "\u{fffd}")
}

/// A text in a style.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Styled<T>(Style, T);

impl<T: fmt::Display> fmt::Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(style, text) = self;
        write!(f, "{style}{text}{style:#}")
    }
}

pub(crate) fn heading<T>(text: T) -> Styled<T> {
    Styled(Style::new().bold(), text)
}

pub(crate) fn faint<T>(text: T) -> Styled<T> {
    Styled(Style::new().dimmed(), text)
}

pub(crate) fn good<T>(text: T) -> Styled<T> {
    Styled(AnsiColor::Green.on_default().bold(), text)
}

pub(crate) fn warning<T>(text: T) -> Styled<T> {
    Styled(AnsiColor::Yellow.on_default().bold(), text)
}

pub(crate) fn bad<T>(text: T) -> Styled<T> {
    Styled(AnsiColor::Red.on_default().bold(), text)
}

/// Breaks `text` between words, so that no line is longer than `width`. The first line follows
/// `start`; later ones begin after `indent` blanks. A word that is longer than a line is not
/// broken.
pub(crate) fn hanging(start: &str, text: &str, indent: usize, width: usize) -> String {
    // The codes of colours take no columns.
    let length = |text: &str| strip_str(text).to_string().chars().count();
    let mut lines = start.to_owned();
    let mut column = length(start.trim_start_matches('\n'));
    for (at, word) in text.split(' ').enumerate() {
        let more = length(word);
        if at > 0 && column + 1 + more > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            column = indent;
        } else if at > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += more;
    }
    lines
}

/// A time in nanoseconds, in the unit that keeps it short: `17.0 ns`, `1.25 µs`, `3.10 ms`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ns(pub(crate) f64);

impl fmt::Display for Ns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0.abs() {
            size if !size.is_finite() => "-".to_owned(),
            ..99.95 => format!("{:.1} ns", self.0),
            ..999.5 => format!("{:.0} ns", self.0),
            ..999_995.0 => format!("{:.2} µs", self.0 / 1e3),
            ..999_995_000.0 => format!("{:.2} ms", self.0 / 1e6),
            ..172.8e12 => format!("{:.2} s", self.0 / 1e9),
            _ => format!("{:.1} days", self.0 / 86.4e12),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_can_not_drive_the_terminal() {
        for (text, shown) in [
            ("two\nlines\t", "two\nlines\t"),
            ("\u{1b}]0;title\u{7}", "\u{fffd}]0;title\u{fffd}"),
            ("\u{9b}31m\r", "\u{fffd}31m\u{fffd}"),
            ("\u{202e}gnp.exe", "\u{fffd}gnp.exe"),
        ] {
            assert_eq!(harmless(text), shown);
        }
    }

    #[test]
    fn a_text_is_broken_between_words() {
        let text = "one two three four";
        assert_eq!(hanging("  a: ", text, 4, 13), "  a: one two\n    three\n    four");
        assert_eq!(hanging("", text, 2, 100), text);
        assert_eq!(hanging("", "a anewwordthatislong b", 1, 8), "a\n anewwordthatislong\n b");
        assert_eq!(hanging("x ", "", 3, 9), "x ");
    }

    #[test]
    fn colours_take_no_columns() {
        let text = format!("aa {} bb", faint("cc dd"));
        assert_eq!(strip_str(&hanging("", &text, 0, 8)).to_string(), "aa cc dd\nbb");
    }

    #[test]
    fn a_time_has_the_unit_that_keeps_it_short() {
        for (ns, text) in [
            (0.0, "0.0 ns"),
            (17.25, "17.2 ns"),
            (-99.96, "-100 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (12_345.0, "12.35 µs"),
            (-3_100_000.0, "-3.10 ms"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
            (1.5e9, "1.50 s"),
            (7199e9, "7199.00 s"),
            (-259.2e12, "-3.0 days"),
        ] {
            assert_eq!(Ns(ns).to_string(), text);
        }
        assert_eq!(format!("{:>9}", Ns(17.0)), "  17.0 ns");
    }
}
