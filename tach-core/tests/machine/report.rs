//! The findings of a scenario: figures, and violations of a bar.

use core::fmt;

#[derive(Debug, Default)]
pub(crate) struct Report {
    figures: Vec<String>,
    violations: Vec<String>,
}

impl Report {
    /// Records the figure `found`, which must be at most `bar`.
    pub(crate) fn at_most(&mut self, what: &str, found: u64, bar: u64) {
        self.holds(found <= bar, format!("{what} {found} (bar {bar})"));
    }

    /// Records the figure `found`, which must be at least `bar`.
    pub(crate) fn at_least(&mut self, what: &str, found: u64, bar: u64) {
        self.holds(found >= bar, format!("{what} {found} (at least {bar})"));
    }

    /// Records a duration in ns, which must be at most `bar_ns`.
    pub(crate) fn at_most_ns(&mut self, what: &str, found_ns: u64, bar_ns: u64) {
        let (found, bar) = (Readable(found_ns), Readable(bar_ns));
        self.holds(found_ns <= bar_ns, format!("{what} {found} (bar {bar})"));
    }

    /// Records a finding, as a violation unless it is `good`.
    pub(crate) fn holds(&mut self, good: bool, finding: String) {
        if good { &mut self.figures } else { &mut self.violations }.push(finding);
    }

    /// Records a figure without a bar.
    pub(crate) fn figure(&mut self, finding: String) {
        self.figures.push(finding);
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.violations.is_empty() {
            write!(f, "VIOLATED: {}", self.violations.join(", "))?;
            if self.figures.is_empty() {
                return Ok(());
            }
            f.write_str("; else: ")?;
        }
        f.write_str(&self.figures.join(", "))
    }
}

/// A time that is printed with its unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Readable(pub(crate) u64);

impl fmt::Display for Readable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ns @ 0..1_000 => write!(f, "{ns} ns"),
            ns @ 1_000..1_000_000 => write!(f, "{}.{} us", ns / 1_000, ns % 1_000 / 100),
            ns @ 1_000_000..1_000_000_000 => {
                write!(f, "{}.{} ms", ns / 1_000_000, ns % 1_000_000 / 100_000)
            }
            ns => write!(f, "{}.{} s", ns / 1_000_000_000, ns % 1_000_000_000 / 100_000_000),
        }
    }
}
