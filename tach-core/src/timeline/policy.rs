//! The choices for an OS clock that falls behind the timeline.

/// The timeline's response when the OS clock is set back by more than can be slewed away.
///
/// # Examples
///
/// ```
/// use tach_core::{BackwardStep, set_backward_step};
///
/// // The lines of this log must stay in order, even if the clock is set back.
/// set_backward_step(BackwardStep::Hold);
/// # set_backward_step(BackwardStep::Follow);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackwardStep {
    /// Goes back at once.
    Follow,
    /// Never goes back, but slows until the OS clock has caught up: to half the rate while the
    /// timeline is more than a millisecond ahead, then by 500 ppm.
    Hold,
}

/// The timeline's response when the OS clock jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// The user's choice, for Unix time.
    Step(BackwardStep),
    /// Continues at the clock's rate and keeps an offset to the clock: for elapsed time, which must
    /// stay true when the OS clock jumps.
    Offset,
}
