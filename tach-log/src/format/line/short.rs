//! Targets whose modules are shortened to their first letters.

use std::borrow::Cow;

/// Stands between the modules of a target.
const BETWEEN: &str = "::";

/// Shortens a target to `width` columns, if that is possible: from the left, replaces modules by
/// their first letters, except for the last one.
pub(super) fn shortened(target: &str, width: usize) -> Cow<'_, str> {
    let columns = |text: &str| text.chars().count();
    let mut too_many = columns(target).saturating_sub(width);
    let mut short = String::with_capacity(target.len());
    let mut rest = target;
    while let Some((module, after)) = rest.split_once(BETWEEN) {
        if too_many == 0 {
            break;
        }
        short.extend(module.chars().next());
        short.push_str(BETWEEN);
        too_many = too_many.saturating_sub(columns(module).saturating_sub(1));
        rest = after;
    }
    if rest.len() == target.len() { Cow::Borrowed(target) } else { Cow::Owned(short + rest) }
}
