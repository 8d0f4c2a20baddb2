//! Decides when a task that failed is tried again.

use core::time::Duration;
use std::time::Instant;

const SHORTEST: Duration = Duration::from_millis(10);

/// The pauses after failures of one kind. Each is twice the one before, up to the longest.
#[derive(Debug, Clone, Copy)]
pub struct Pauses {
    first: Duration,
    longest: Duration,
}

impl Pauses {
    /// The pauses before the next write.
    pub(crate) const OF_WRITES: Self =
        Self { first: Duration::from_millis(10), longest: Duration::from_secs(1) };
    /// The pauses before the next try of a rotation.
    pub(crate) const OF_ROTATIONS: Self =
        Self { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
    /// The pauses before the next try of a flush.
    pub const OF_FLUSHES: Self =
        Self { first: Duration::from_millis(50), longest: Duration::from_millis(500) };
}

/// Whether a task of a receiver fails, and since when.
#[derive(Debug)]
pub struct Failure {
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

#[expect(clippy::must_use_candidate, reason = "hidden")]
impl Failure {
    /// Creates a task that has not failed.
    pub const fn new(pauses: Pauses) -> Self {
        Self { pauses, lasting: None }
    }

    /// Returns how long to wait before the next try. Zero if the last try succeeded.
    pub fn pause(&self) -> Duration {
        let left = |it: Lasting| it.pause.saturating_sub(it.last.elapsed());
        self.lasting.map_or(Duration::ZERO, left)
    }

    /// Returns the pause for somebody who waits until `end`. The next try is half-way to `end` at
    /// the latest, so that the last tries come close to it.
    pub fn pause_until(&self, end: Instant) -> Duration {
        let left = |it: Lasting| {
            let half = end.saturating_duration_since(it.last) / 2;
            it.pause.min(half.max(SHORTEST)).saturating_sub(it.last.elapsed())
        };
        self.lasting.map_or(Duration::ZERO, left)
    }

    /// Returns whether the last try failed.
    pub(crate) fn is_lasting(&self) -> bool {
        self.lasting.is_some()
    }

    /// Records that the task succeeded. Returns whether the last try had failed.
    pub fn succeeded(&mut self) -> bool {
        self.lasting.take().is_some()
    }

    /// Records a failure, and returns the pause that begins now.
    pub fn happened(&mut self) -> Duration {
        let Pauses { first, longest } = self.pauses;
        let pause = self.lasting.map_or(first, |it| (it.pause * 2).min(longest));
        self.lasting = Some(Lasting { last: Instant::now(), pause });
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_tries_come_close_to_the_end_of_a_wait() {
        let mut failure = Failure::new(Pauses::OF_FLUSHES);
        let end = |of_now: Duration| Instant::now() + of_now;
        assert_eq!(failure.pause_until(end(Duration::ZERO)), Duration::ZERO);
        for _ in 0..20 {
            failure.happened();
        }
        let Pauses { longest, .. } = Pauses::OF_FLUSHES;
        // Compare with upper bounds only: time passes between the failure and the question.
        for (left, most) in [(60_000, longest), (400, longest * 2 / 5), (0, SHORTEST)] {
            failure.happened();
            let pause = failure.pause_until(end(Duration::from_millis(left)));
            assert!(pause <= most, "{left}: {pause:?}");
            let is_near = left == 0 || pause > most / 2 || failure.pause() < longest;
            assert!(is_near, "{left}: {pause:?}");
        }
        failure.succeeded();
        assert_eq!(failure.pause_until(end(longest)), Duration::ZERO);
    }
}
