//! Whether a stream has colors.

use std::io::IsTerminal;

use tach_core::adapter;

/// Returns whether `stream` has colors: if it is a terminal that shows them, or the user wants them
/// elsewhere too, and does not forbid them.
///
/// `NO_COLOR` (no-color.org) forbids colors. `FORCE_COLOR` (force-color.org) and `CLICOLOR_FORCE`
/// (bixense.com/clicolors) demand them, unless the value is `0` or `false`. An empty variable
/// counts as unset. A terminal whose `TERM` is `dumb` or not set shows none.
pub(crate) fn shows_colors(stream: &impl IsTerminal) -> bool {
    let is_set = |name| adapter::variable(name).filter(|value| !value.is_empty());
    let is_forced = |name| is_set(name).is_some_and(|value| value != "0" && value != "false");
    if is_set("NO_COLOR").is_some() {
        return false;
    }
    is_forced("FORCE_COLOR")
        || is_forced("CLICOLOR_FORCE")
        || stream.is_terminal() && is_set("TERM").is_some_and(|term| term != "dumb")
}
