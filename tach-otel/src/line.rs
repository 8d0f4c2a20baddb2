//! A Unix time that no step of the wall clock bends: the time elapsed, plus a constant.

/// The smallest distance of the wall clock from a line after which another line begins. It is
/// longer than a thread is usually held up between the reads of two clocks, and shorter than the
/// steps of clocks that are set.
pub(crate) const STEP_NS: u64 = 1_000_000;

/// The greatest difference, without a step, between the wall clock, which callers read, and tach's
/// clock, which follows it when it is slewed. A line that is further from the wall clock is from
/// before a step.
pub(crate) const ERROR_NS: u64 = 50_000;

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
        self.distance_ns(moment) >= STEP_NS
    }

    /// Returns whether the wall clock has left the line, even by a step too small for a new line.
    #[inline]
    pub(crate) fn is_off(self, moment: Moment) -> bool {
        self.distance_ns(moment) > ERROR_NS
    }

    #[inline]
    pub(crate) fn distance_ns(self, moment: Moment) -> u64 {
        self.ns_at(moment.elapsed_ns).abs_diff(moment.unix_ns)
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
