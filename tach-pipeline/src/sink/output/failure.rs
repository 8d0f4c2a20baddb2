//! A writer that fails: when to try again.

use core::time::Duration;
use std::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How a sink fails.
#[derive(Debug, Default)]
pub(super) struct Failure {
    /// When the writer failed last, and the pause from then on; `None` once it has worked again.
    lasting: Option<(Instant, Duration)>,
}

impl Failure {
    /// Returns how long to wait before the next try.
    pub(super) fn pause(&self) -> Duration {
        self.lasting
            .map_or(Duration::ZERO, |(failed, pause)| pause.saturating_sub(failed.elapsed()))
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
        let pause = self.lasting.map_or(FIRST_PAUSE, |(_, pause)| (pause * 2).min(LONGEST_PAUSE));
        self.lasting = Some((Instant::now(), pause));
    }
}
