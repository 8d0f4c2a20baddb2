//! What is wrong with options.

/// The end of a call that is wrong, and what would be right.
pub type Fault = (String, &'static str);

/// Adds a fault unless `is_right`.
pub(crate) fn unless(
    is_right: bool,
    faults: &mut Vec<Fault>,
    call: impl FnOnce() -> String,
    wanted: &'static str,
) {
    if !is_right {
        faults.push((call(), wanted));
    }
}
