//! The choices for an OS clock that falls behind the timeline.

/// The timeline's response when the OS clock is set back by more than can be slewed away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum BackwardStep {
    /// Goes back at once.
    #[default]
    Follow,
    /// Does not go back for a step of up to a minute, but slows until the OS clock has caught up:
    /// to half the rate while the timeline is more than a millisecond ahead, then by 500 ppm. So
    /// catching up takes two minutes at most.
    ///
    /// If the timeline is more than a minute ahead of the OS clock, the timeline goes back at once:
    /// a wrong clock was corrected, and half speed would last for twice the step.
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
