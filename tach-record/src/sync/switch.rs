//! A flag that any thread may set.

use core::sync::atomic::{AtomicBool, Ordering};

/// A flag that publishes nothing but itself.
#[derive(Debug, Default)]
pub struct Switch(AtomicBool);

impl Switch {
    /// Creates a flag that is off.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Sets the flag.
    #[inline]
    pub fn on(&self) {
        // ORDERING: Relaxed: publishes nothing.
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the flag is set.
    #[inline]
    pub fn is_on(&self) -> bool {
        // ORDERING: Relaxed: publishes nothing.
        self.0.load(Ordering::Relaxed)
    }

    /// Switches the flag off, and returns whether it was on.
    #[inline]
    pub fn off(&self) -> bool {
        // ORDERING: Relaxed: publishes nothing.
        self.0.swap(false, Ordering::Relaxed)
    }
}
