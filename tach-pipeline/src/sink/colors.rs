//! Colors on and off.

use super::{Sink, kind};

impl Sink<kind::Stream> {
    /// Writes colors even if no terminal is found, such as to a pager that shows them. By default
    /// only terminals get colors: see [`stdout`](Sink::stdout).
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::stdout().colors();
    /// ```
    #[must_use]
    pub const fn colors(mut self) -> Self {
        self.common.is_colored = true;
        self
    }

    /// Writes no colors, even to a terminal.
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::stderr().without_colors();
    /// ```
    #[must_use]
    pub const fn without_colors(mut self) -> Self {
        self.common.is_colored = false;
        self
    }
}
