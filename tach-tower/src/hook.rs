//! A function of the user's.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// A function of the program's.
pub(crate) struct Hook<F: ?Sized>(pub(crate) Arc<F>);

/// A function that panics has no state of the layer's in its hands.
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
