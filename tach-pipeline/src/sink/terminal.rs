//! Whether who reads a stream wants colours.

use std::env;
use std::io::IsTerminal;

/// Whether `stream` is a terminal that shows colours, and the user has not asked for none.
///
/// `NO_COLOR` asks for none unless it is empty (no-color.org). Terminals that know no colours have `TERM` say
/// so, or not set.
pub(super) fn shows_colors(stream: &impl IsTerminal) -> bool {
    let is_set = |name| env::var_os(name).filter(|value| !value.is_empty());
    stream.is_terminal()
        && is_set("NO_COLOR").is_none()
        && is_set("TERM").is_some_and(|term| term != "dumb")
}
