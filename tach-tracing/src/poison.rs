//! The extensions of a span, whose lock may be poisoned.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

/// What `lock` returns; nothing should it panic.
///
/// A span's extensions are poisoned if a layer panics that holds them, as the `fmt` layer does while a
/// field's `Display` panics, and tracing-subscriber then panics whenever they are asked for. While that first
/// panic unwinds the span is exited, where a second one would end the process.
#[inline]
pub(crate) fn unless_poisoned<T>(lock: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(lock)).ok()
}
