//! Keys of fields beside the keys of the head.

use super::layout::DEFAULT;
use crate::event::Event;

/// Appends underscores to a field's key that the default head uses too.
#[inline]
pub(super) fn mark(to: &mut Vec<u8>, key: &str, event: &Event<'_>) {
    if matches!(key, "ts" | "level" | "target" | "msg" | "span") {
        let head = |is: &dyn Fn(&str) -> bool| DEFAULT.iter().any(|(key, _)| is(key));
        let end = to.len() + underscores(key, head, |is| event.has_key(is));
        to.resize(end, b'_');
    }
}

/// Returns how many `_` follow a field's key that the head uses too, so that each key stands once.
///
/// `head` and `fields` ask whether any of their keys is as the given function says.
#[cold]
pub(super) fn underscores(
    key: &str,
    head: impl Fn(&dyn Fn(&str) -> bool) -> bool,
    fields: impl Fn(&dyn Fn(&str) -> bool) -> bool,
) -> usize {
    let mut count = 1;
    loop {
        let is_taken = |name: &str| {
            let rest = name.strip_prefix(key);
            rest.is_some_and(|rest| rest.len() == count && rest.bytes().all(|byte| byte == b'_'))
        };
        if !head(&is_taken) && !fields(&is_taken) {
            return count;
        }
        count += 1;
    }
}
