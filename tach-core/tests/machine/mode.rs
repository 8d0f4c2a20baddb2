//! The modes of the clock, in each of which a scenario runs.

/// The environment variable that says what happened before the scenario: the number of times that
/// the counter has gone back, or [`UNKNOWN`].
pub(crate) const BEFORE: &str = "TACH_MACHINE_BEFORE";
/// The kernel's files can't be read.
pub(crate) const UNKNOWN: &str = "unknown";

/// How the clock is read, and how strict order between threads is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// By an ordered read, since the simulated kernel trusts the counter.
    Ordered,
    /// By a shared maximum, as `TACH_ORDER` asks for.
    Enforced,
    /// By a shared maximum, since the kernel's files can't be read.
    Unknown,
    /// By the counter, which has gone back once.
    Moved,
    /// By the OS clock, since the counter has gone back four times.
    Replaced,
    /// By the OS clock, as `TACH_SOURCE` asks for.
    Os,
}

pub(crate) const MODES: [Mode; 6] =
    [Mode::Ordered, Mode::Enforced, Mode::Unknown, Mode::Moved, Mode::Replaced, Mode::Os];

impl Mode {
    /// Returns the name of a scenario in this mode.
    pub(crate) fn named(self, name: &str) -> String {
        match self {
            Self::Ordered => name.to_owned(),
            Self::Enforced => format!("{name} (enforced)"),
            Self::Unknown => format!("{name} (unknown)"),
            Self::Moved => format!("{name} (moved)"),
            Self::Replaced => format!("{name} (replaced)"),
            Self::Os => format!("{name} (os)"),
        }
    }

    /// Returns the variable that puts a child into this mode.
    pub(crate) fn variable(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Ordered => None,
            Self::Enforced => Some(("TACH_ORDER", "enforced")),
            Self::Unknown => Some((BEFORE, UNKNOWN)),
            Self::Moved => Some((BEFORE, "1")),
            Self::Replaced => Some((BEFORE, "4")),
            Self::Os => Some(("TACH_SOURCE", "os")),
        }
    }
}
