//! Decides how long events wait for further events, because each write to some receivers is costly.

use core::time::Duration;
use std::time::Instant;

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

    /// Returns how long the events that wait may wait for more.
    pub(super) fn left(&mut self) -> Duration {
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
    fn events_wait_for_a_time() {
        let most = Duration::from_millis(500);
        let mut gathering = Gathering::new(most);
        let first = gathering.left();
        assert!(first <= most);
        thread::sleep(Duration::from_millis(2));
        assert!(gathering.left() < first, "the wait began with the first event");
        thread::sleep(most);
        assert_eq!(gathering.left(), Duration::ZERO);
        gathering.end();
        thread::sleep(Duration::from_millis(2));
        gathering.left();
        assert!(gathering.since.unwrap().elapsed() < Duration::from_secs(60));
        assert_eq!(Gathering::new(Duration::ZERO).left(), Duration::ZERO);
    }
}
