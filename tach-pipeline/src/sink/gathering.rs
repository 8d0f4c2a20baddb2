//! How long events wait for further events, for receivers to which each write is costly.

use core::time::Duration;
use std::time::Instant;

use super::batch::BATCH;

#[derive(Debug)]
pub(super) struct Gathering {
    most: Duration,
    /// When the first of the waiting events came.
    since: Option<Instant>,
}

impl Gathering {
    pub(super) fn new(most: Duration) -> Self {
        Self { most, since: None }
    }

    /// Returns how long to wait for more events, if `waiting` bytes of events wait already.
    pub(super) fn left(&mut self, waiting: usize) -> Duration {
        if self.most.is_zero() || waiting == 0 || waiting >= BATCH {
            return Duration::ZERO;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        self.most.saturating_sub(since.elapsed())
    }

    /// Ends the wait, since the events were taken.
    pub(super) fn end(&mut self) {
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn events_wait_for_a_time_or_for_a_full_write() {
        let most = Duration::from_millis(50);
        let mut gathering = Gathering::new(most);
        assert_eq!(gathering.left(0), Duration::ZERO);
        let first = gathering.left(1);
        assert!(first <= most);
        thread::sleep(Duration::from_millis(2));
        assert!(gathering.left(1000) < first, "the wait began with the first event");
        assert_eq!(gathering.left(BATCH), Duration::ZERO);
        thread::sleep(most);
        assert_eq!(gathering.left(1), Duration::ZERO);
        gathering.end();
        thread::sleep(Duration::from_millis(2));
        gathering.left(1);
        assert!(gathering.since.unwrap().elapsed() < Duration::from_secs(60));
        assert_eq!(Gathering::new(Duration::ZERO).left(1), Duration::ZERO);
    }
}
