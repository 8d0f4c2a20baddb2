//! A writer that fails: when to try again.

use core::time::Duration;
use std::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How a sink fails.
#[derive(Debug, Default)]
pub(super) struct Failure {
    /// `None` once the writer has worked again.
    lasting: Option<Lasting>,
}

#[derive(Debug, Clone, Copy)]
struct Lasting {
    /// When it failed last, and the pause from then on.
    last: Instant,
    pause: Duration,
}

impl Failure {
    /// Returns how long to wait before the next try.
    pub(super) fn pause(&self) -> Duration {
        let left = |it: Lasting| it.pause.saturating_sub(it.last.elapsed());
        self.lasting.map_or(Duration::ZERO, left)
    }

    /// Returns whether the writer failed the last time.
    pub(super) fn is_lasting(&self) -> bool {
        self.lasting.is_some()
    }

    /// Ends the failure, and returns whether there was one.
    pub(super) fn is_over(&mut self) -> bool {
        self.lasting.take().is_some()
    }

    pub(super) fn happened(&mut self) {
        let now = Instant::now();
        let pause = self.lasting.map_or(FIRST_PAUSE, |it| (it.pause * 2).min(LONGEST_PAUSE));
        self.lasting = Some(Lasting { last: now, pause });
    }
}
