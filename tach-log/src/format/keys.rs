//! Keys of fields beside the keys of the head.

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
