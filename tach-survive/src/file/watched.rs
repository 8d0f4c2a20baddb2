//! Lets a test see what a process leaves that is killed after a store.

use std::sync::OnceLock;

/// Called after each store to a file, if it is set.
pub static STORED: OnceLock<fn()> = OnceLock::new();

pub(super) fn stored() {
    if let Some(stored) = STORED.get() {
        stored();
    }
}
