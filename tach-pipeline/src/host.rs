//! The surroundings of the process: its name, terminals, stderr.

pub(crate) mod program;
pub(crate) mod terminal;

use core::fmt;

/// Prints a line on stderr: see [`to_stderr`](tach_sinks::adapter::to_stderr).
pub(crate) fn to_stderr(line: fmt::Arguments<'_>) {
    tach_sinks::adapter::to_stderr("tach-pipeline", line);
}
