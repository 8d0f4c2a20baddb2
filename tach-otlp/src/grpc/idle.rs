//! Keeps a connection between two requests.

use core::time::Duration;
use std::time::Instant;

/// How long a connection may be idle. A router that translates addresses forgets one after some
/// minutes, and then drops what is sent on it without a word, so that a request would wait for its
/// whole timeout.
const LONGEST: Duration = Duration::from_secs(60);

/// A connection that a request may use again, and the time when the last request ended.
pub(super) struct Idle<C>(Option<(C, Instant)>);

impl<C> Idle<C> {
    pub(super) const fn none() -> Self {
        Self(None)
    }

    pub(super) fn keep(&mut self, connection: C) {
        self.0 = Some((connection, Instant::now()));
    }

    /// Takes the connection. If it was idle for too long, returns `None`.
    pub(super) fn take(&mut self) -> Option<C> {
        let (connection, since) = self.0.take()?;
        (since.elapsed() < LONGEST).then_some(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_was_idle_for_long_is_not_used_again() {
        let mut idle = Idle::none();
        assert_eq!(idle.take(), None::<u8>);
        idle.keep(7);
        assert_eq!(idle.take(), Some(7));
        assert_eq!(idle.take(), None);
        let Some(since) = Instant::now().checked_sub(LONGEST) else { return };
        assert_eq!(Idle(Some((7, since))).take(), None);
    }
}
