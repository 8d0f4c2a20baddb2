//! Which time exported durations are about.

/// Which time the points of an export are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Temporality {
    /// From the start on.
    Cumulative,
    /// Since the export before.
    Delta,
}
