//! The output: lines for people, with colours on a terminal alone, or JSON for machines.

mod json;
mod layout;
mod terminal;

use core::fmt;
use std::io::{self, StdoutLock, Write};

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;

pub(crate) use self::layout::{Table, Width, hanging, paragraph};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const RED: Style = AnsiColor::Red.on_default().bold();

/// Standard output. Texts for a terminal show control characters, instead of sending them there;
/// texts for anything else have them as they are. Colours are left out unless the terminal shows
/// them and `NO_COLOR` is not set.
pub(crate) struct Output {
    stream: AutoStream<StdoutLock<'static>>,
    shown: Shown,
    is_json: bool,
    width: Width,
}

/// How a text is made fit for a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    OnTerminal,
    WithColors,
    Plain,
}

impl Shown {
    fn on(stream: &impl RawStream) -> Self {
        if stream.is_terminal() {
            Self::OnTerminal
        } else if AutoStream::choice(stream) == ColorChoice::Never {
            Self::Plain
        } else {
            Self::WithColors
        }
    }

    /// Returns the stream, which passes on whatever is written.
    fn stream<S: RawStream>(self, stream: S) -> AutoStream<S> {
        if self == Self::OnTerminal {
            AutoStream::auto(stream)
        } else {
            AutoStream::always_ansi(stream)
        }
    }
}

impl Output {
    pub(crate) fn new(is_json: bool) -> Self {
        let shown = Shown::on(&io::stdout());
        let width = Width::of_stdout();
        Self { stream: shown.stream(io::stdout().lock()), shown, is_json, width }
    }

    /// Writes `value` as a line of JSON if that was requested, otherwise its text.
    pub(crate) fn write<T: fmt::Display>(
        &mut self,
        value: &impl Serialize,
        text: impl FnOnce(Width) -> T,
    ) -> anyhow::Result<()> {
        if self.is_json { self.line(json::line(value)?) } else { self.line(text(self.width)) }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> anyhow::Result<()> {
        let text = text.to_string();
        let text = match self.shown {
            Shown::OnTerminal => terminal::harmless(&text),
            Shown::WithColors => text,
            Shown::Plain => terminal::plain(&text),
        };
        writeln!(self.stream, "{text}")?;
        self.stream.flush()?;
        Ok(())
    }
}

/// Writes a message of several lines to standard error, with colours and without control characters
/// on a terminal alone. If nobody reads it, it is lost.
pub(crate) fn report(message: impl fmt::Display) {
    report_by(&message.to_string(), terminal::harmless);
}

/// Like [`report`], for an error, which is one line whatever paths it contains.
pub(crate) fn report_error(error: &anyhow::Error) {
    report_by(&format!("{}: {}", bad("error"), chain(error)), terminal::line);
}

/// Returns an error with its causes. Errors of tach's crates name their cause themselves, so a
/// cause that the text contains already is left out.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

fn report_by(text: &str, shown: fn(&str) -> String) {
    let how = Shown::on(&io::stderr());
    let text = text.trim_end_matches('\n');
    let text = match how {
        Shown::OnTerminal => shown(text),
        Shown::WithColors => text.to_owned(),
        Shown::Plain => terminal::plain(text),
    };
    let _lost = writeln!(how.stream(io::stderr().lock()), "{text}");
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
    Styled(BOLD, text)
}

pub(crate) fn faint<T>(text: T) -> Styled<T> {
    Styled(DIM, text)
}

pub(crate) fn good<T>(text: T) -> Styled<T> {
    Styled(GREEN, text)
}

pub(crate) fn warning<T>(text: T) -> Styled<T> {
    Styled(YELLOW, text)
}

pub(crate) fn bad<T>(text: T) -> Styled<T> {
    Styled(RED, text)
}

/// A time in nanoseconds, in the unit that keeps it short: `17 ns`, `1.25 µs`, `3.10 ms`, `2.0
/// days`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ns(pub(crate) f64);

impl fmt::Display for Ns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        let text = if !size.is_finite() {
            "-".to_owned()
        } else if size < 99.95 {
            format!("{:.1} ns", self.0)
        } else if size < 999.5 {
            format!("{:.0} ns", self.0)
        } else if size < 999_995.0 {
            format!("{:.2} µs", self.0 / 1e3)
        } else if size < 999_995_000.0 {
            format!("{:.2} ms", self.0 / 1e6)
        } else if size < 7.2e12 {
            format!("{:.2} s", self.0 / 1e9)
        } else if size < 172.8e12 {
            format!("{:.2} h", self.0 / 3.6e12)
        } else {
            format!("{:.1} days", self.0 / 86.4e12)
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let cause = || std::io::Error::other("no room");
        let whole = anyhow::Error::new(cause()).context("can't write x: no room");
        assert_eq!(chain(&whole), "can't write x: no room");
        let parts = anyhow::Error::new(cause()).context("can't write x");
        assert_eq!(chain(&parts), "can't write x: no room");
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
            (7.2e12, "2.00 h"),
            (-259.2e12, "-3.0 days"),
        ] {
            assert_eq!(Ns(ns).to_string(), text);
        }
        assert_eq!(format!("{:>9}", Ns(17.0)), "  17.0 ns");
    }
}
