//! What a timeline does when the OS clock falls behind it.

/// What a timeline does when the OS clock is set back by more than can be slewed away.
///
/// # Examples
///
/// ```
/// use tach_core::{BackwardStep, set_backward_step};
///
/// // A log whose lines must stay in order, though the clock be set back.
/// set_backward_step(BackwardStep::Hold);
/// # set_backward_step(BackwardStep::Follow);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackwardStep {
    /// It goes back at once.
    Follow,
    /// It never goes back, and slows until the truth has caught up: to half the rate while it is more
    /// than a millisecond ahead, and by 500 ppm then.
    Hold,
}

/// What a timeline does when the OS clock falls behind it by a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// As the user asked for: of Unix time.
    Step(BackwardStep),
    /// It goes on at the clock's rate, and keeps an offset to the clock: of elapsed time, which must
    /// stay true when the OS clock jumps.
    Offset,
}
