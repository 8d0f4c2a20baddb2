//! Poisoned extensions of spans.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

/// Calls `lock`, and returns `None` if it panics.
///
/// A layer that panics while it holds a span's extensions poisons them: the `fmt` layer does when a
/// field's `Display` panics. From then on tracing-subscriber panics at each request for them. The
/// first panic exits the span as it unwinds, where a second one would abort the process.
#[inline]
pub(super) fn unless_poisoned<T>(lock: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(lock)).ok()
}
