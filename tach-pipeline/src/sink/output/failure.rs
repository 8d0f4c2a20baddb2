//! Decides when a writer that failed is tried again.

use core::time::Duration;
use std::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Whether a sink fails, and since when.
#[derive(Debug, Default)]
pub(super) struct Failure {
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
    /// Returns how long to wait before the next try. Zero if the last try succeeded.
    pub(super) fn pause(&self) -> Duration {
        let left = |it: Lasting| it.pause.saturating_sub(it.last.elapsed());
        self.lasting.map_or(Duration::ZERO, left)
    }

    /// Returns whether the last try failed.
    pub(super) fn is_lasting(&self) -> bool {
        self.lasting.is_some()
    }

    /// Records that the writer works. Returns whether the last try had failed.
    pub(super) fn is_over(&mut self) -> bool {
        self.lasting.take().is_some()
    }

    pub(super) fn happened(&mut self) {
        let now = Instant::now();
        let pause = self.lasting.map_or(FIRST_PAUSE, |it| (it.pause * 2).min(LONGEST_PAUSE));
        self.lasting = Some(Lasting { last: now, pause });
    }
}
