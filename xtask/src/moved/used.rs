//! What a program has printed and sent.

use std::collections::BTreeMap;
use std::fmt;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Status(i32),
    #[cfg(unix)]
    Signal(i32),
}

#[derive(Debug, Default)]
pub(super) struct Used {
    /// The outcome of each test by its name.
    pub(super) tests: BTreeMap<String, String>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) spans: Vec<String>,
    pub(super) end: Option<End>,
}

impl Used {
    /// Returns the lines of both streams.
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.stdout.lines().chain(self.stderr.lines())
    }

    /// Returns everything in which a program after its move differs from this one.
    pub(super) fn differences(&self, after: &Self, same_line: fn(&str) -> String) -> Vec<String> {
        let mut faults = Vec::new();
        if self.tests != after.tests {
            faults.push(format!("tests: {:?}, and after the move {:?}", self.tests, after.tests));
        }
        let same = |text: &str| text.lines().map(same_line).collect::<Vec<_>>().join("\n");
        let streams = [(&self.stdout, &after.stdout), (&self.stderr, &after.stderr)];
        for ((before, after), name) in streams.into_iter().zip(["stdout", "stderr"]) {
            if same(before) != same(after) {
                faults.push(format!("{name}:\n{before}and after the move:\n{after}"));
            }
        }
        if self.spans != after.spans {
            let (before, after) = (&self.spans, &after.spans);
            faults.push(format!("spans: {before:#?}, and after the move {after:#?}"));
        }
        if self.end != after.end {
            faults.push(format!("ends: {:?}, and after the move {:?}", self.end, after.end));
        }
        faults
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {status}"),
            #[cfg(unix)]
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// Returns a line with `0` for each run of digits, such as times, ports and versions, and without
/// colors, which `tracing_subscriber::fmt` also writes where no terminal is.
pub(super) fn masked(line: &str) -> String {
    let mut masked = String::new();
    for character in without_colors(line).chars() {
        match character {
            '0'..='9' if masked.ends_with('0') => {}
            '0'..='9' => masked.push('0'),
            other => masked.push(other),
        }
    }
    masked
}

fn without_colors(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
    [first].into_iter().chain(rest.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_line_has_no_colors_and_no_times() {
        let line = "\u{1b}[2m09:30:00.123\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m at 127.0.0.1:80";
        assert_eq!(masked(line), "0:0:0.0  INFO at 0.0.0.0:0");
    }

    fn used(stdout: &str) -> Used {
        Used { stdout: stdout.to_owned(), end: Some(End::Status(0)), ..Used::default() }
    }

    #[test]
    fn times_and_ports_are_no_difference() {
        let (before, after) = (used("at 09:30 port 80\n"), used("at 10:00 port 8080\n"));
        assert!(before.differences(&after, masked).is_empty());
        assert_eq!(before.differences(&after, str::to_owned).len(), 1);
    }

    #[test]
    fn every_other_one_is() {
        let before = used("a\n");
        let mut after = used("a\nb\n");
        assert_eq!(before.differences(&after, masked).len(), 1);
        after.end = Some(End::Status(1));
        after.spans.push("span".to_owned());
        after.tests.insert("test".to_owned(), "ok".to_owned());
        assert_eq!(before.differences(&after, masked).len(), 4);
    }
}
