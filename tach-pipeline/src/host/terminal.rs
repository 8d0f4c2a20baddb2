//! Whether a stream shows colors.

use std::io::IsTerminal;

use tach_core::adapter;

/// Returns whether `stream` is a terminal that shows colors, and the user allows them.
///
/// `NO_COLOR` forbids them unless it is empty (no-color.org). Without colors, `TERM` is `dumb` or
/// not set.
pub(crate) fn shows_colors(stream: &impl IsTerminal) -> bool {
    let is_set = |name| adapter::variable(name).filter(|value| !value.is_empty());
    stream.is_terminal()
        && is_set("NO_COLOR").is_none()
        && is_set("TERM").is_some_and(|term| term != "dumb")
}
