//! Decides when a task that failed is tried again.

use core::time::Duration;
use std::time::Instant;

/// The pauses after failures of one kind. Each is twice the one before, up to the longest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pauses {
    first: Duration,
    longest: Duration,
}

impl Pauses {
    pub(super) const OF_WRITES: Self =
        Self { first: Duration::from_millis(10), longest: Duration::from_secs(1) };
    pub(super) const OF_ROTATIONS: Self =
        Self { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
}

/// Whether a task of a sink fails, and since when.
#[derive(Debug)]
pub(super) struct Failure {
    pauses: Pauses,
    /// `None` if the last try succeeded.
    lasting: Option<Lasting>,
}

#[derive(Debug, Clone, Copy)]
struct Lasting {
    /// The time of the last failure, and the pause that begins there.
    last: Instant,
    pause: Duration,
}

impl Failure {
    pub(super) const fn new(pauses: Pauses) -> Self {
        Self { pauses, lasting: None }
    }

    /// Returns how long to wait before the next try. Zero if the last try succeeded.
    pub(super) fn pause(&self) -> Duration {
        let left = |it: Lasting| it.pause.saturating_sub(it.last.elapsed());
        self.lasting.map_or(Duration::ZERO, left)
    }

    /// Returns whether the last try failed.
    pub(super) fn is_lasting(&self) -> bool {
        self.lasting.is_some()
    }

    /// Records that the task succeeded. Returns whether the last try had failed.
    pub(super) fn succeeded(&mut self) -> bool {
        self.lasting.take().is_some()
    }

    /// Records a failure, and returns the pause that begins now.
    pub(super) fn happened(&mut self) -> Duration {
        let Pauses { first, longest } = self.pauses;
        let pause = self.lasting.map_or(first, |it| (it.pause * 2).min(longest));
        self.lasting = Some(Lasting { last: Instant::now(), pause });
        pause
    }
}
