//! A Unix time that no step of the wall clock bends: the time elapsed, plus a constant.

/// The smallest distance of the wall clock from a line that counts as a step: longer than a thread
/// is usually held up between the reads of two clocks, shorter than the steps of clocks that are
/// set.
pub(crate) const STEP_NS: u64 = 1_000_000;

/// The Unix time in nanoseconds at which the count of elapsed time began, by this line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line(pub(crate) u64);

impl Line {
    /// Stands for the line before the first span. (Any other line is as good, since a line that is
    /// far from the wall clock is replaced.)
    pub(crate) const NONE: Self = Self(1 << 63);

    #[inline]
    pub(crate) fn ns_at(self, elapsed_ns: u64) -> u64 {
        self.0.wrapping_add(elapsed_ns)
    }

    #[inline]
    pub(crate) fn is_apart(self, moment: Moment) -> bool {
        self.ns_at(moment.elapsed_ns).abs_diff(moment.unix_ns) >= STEP_NS
    }
}

/// A point in time by both of a clock's counts, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) elapsed_ns: u64,
    pub(crate) unix_ns: u64,
}

impl Moment {
    /// Returns the line through this moment.
    pub(crate) fn line(self) -> Line {
        Line(self.unix_ns.wrapping_sub(self.elapsed_ns))
    }
}
