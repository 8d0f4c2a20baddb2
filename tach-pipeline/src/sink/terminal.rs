//! Whether a stream shows colors.

use std::env;
use std::io::IsTerminal;

/// Returns whether `stream` is a terminal that shows colors, and the user wants them.
///
/// A `NO_COLOR` that is not empty rules colors out (no-color.org). A terminal without colors has
/// `TERM` set to `dumb`, or not set.
pub(super) fn shows_colors(stream: &impl IsTerminal) -> bool {
    let is_set = |name| env::var_os(name).filter(|value| !value.is_empty());
    stream.is_terminal()
        && is_set("NO_COLOR").is_none()
        && is_set("TERM").is_some_and(|term| term != "dumb")
}
