//! Extensions of spans whose lock is poisoned.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

/// Calls `lock`, and returns `None` if it panics.
///
/// A layer that panics while it holds a span's extensions poisons them, as the `fmt` layer does when a
/// field's `Display` panics. After that, each request for the extensions makes tracing-subscriber panic.
/// The first panic exits the span as it unwinds, and a second one there would abort the process.
#[inline]
pub(super) fn unless_poisoned<T>(lock: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(lock)).ok()
}
