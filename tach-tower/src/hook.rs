//! Functions that the program sets.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// A function that the program has set.
pub struct Hook<F: ?Sized>(pub Arc<F>);

/// The function sees no state of the layer, so its panic leaves none half changed.
impl<F: ?Sized> RefUnwindSafe for Hook<F> {}
impl<F: ?Sized> UnwindSafe for Hook<F> {}

impl<F: ?Sized> Clone for Hook<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<F: ?Sized> fmt::Debug for Hook<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}
