//! The timers for tracing-tree, which has a trait of its own.

use core::fmt;
use core::time::Duration;

use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// A timer for the layer of [tracing-tree](tracing_tree) that prints what the timer in it prints.
///
/// # Examples
///
/// ```
/// use tach_tracing::{Tree, Utc};
/// use tracing_subscriber::prelude::*;
///
/// let layer = tracing_tree::HierarchicalLayer::new(2).with_timer(Tree(Utc));
/// tracing_subscriber::registry().with(layer).init();
/// tracing::info!("ready");
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Tree<T>(pub T);

impl<T: FormatTime> tracing_tree::time::FormatTime for Tree<T> {
    fn format_time(&self, writer: &mut impl fmt::Write) -> fmt::Result {
        self.0.format_time(&mut Writer::new(writer))
    }

    /// Writes the age of a span, which tracing-tree measures, such as `  1.5ms`.
    fn style_timestamp(
        &self,
        ansi: bool,
        elapsed: Duration,
        writer: &mut impl fmt::Write,
    ) -> fmt::Result {
        let (dim, plain) = if ansi { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        write!(writer, "{dim}{elapsed:>7.1?}{plain}")
    }
}
