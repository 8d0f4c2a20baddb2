//! Values that a thread keeps for the length of a call.

use core::cell::Cell;
use std::thread::LocalKey;

/// Calls `f` while `cell` holds `value`, then restores the previous value, also on unwinding.
///
/// If the thread's memory has been freed already, only calls `f`.
#[inline]
pub(crate) fn during<T: Copy, R>(
    cell: &'static LocalKey<Cell<T>>,
    value: T,
    f: impl FnOnce() -> R,
) -> R {
    let before = cell.try_with(|cell| cell.replace(value)).ok();
    let _restored = Restored { cell, before };
    f()
}

struct Restored<T: Copy + 'static> {
    cell: &'static LocalKey<Cell<T>>,
    before: Option<T>,
}

impl<T: Copy> Drop for Restored<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.before {
            let _ = self.cell.try_with(|cell| cell.set(before));
        }
    }
}
