//! Lets a flush wait for a file that is being written after a slow span.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use tach_record::sync::{Changed, Lock};

#[derive(Default)]
/// The files that were begun.
pub struct Writing {
    state: Lock<State>,
    changed: Changed,
}

/// Files are written one after the other.
#[derive(Default)]
struct State {
    begun: u64,
    ended: u64,
}

/// A file that is being written. Dropping the value marks the file as ended.
pub struct Begun(Arc<Writing>);

impl Writing {
    /// Begins a file.
    #[must_use]
    pub fn begin(self: &Arc<Self>) -> Begun {
        self.state.lock().begun += 1;
        Begun(Arc::clone(self))
    }

    /// Waits until all files have ended that were begun before the call. If that takes longer than
    /// `timeout`, returns `false`.
    pub fn wait(&self, timeout: Duration) -> bool {
        let begun = self.state.lock().begun;
        self.wait_for(begun, timeout)
    }

    fn wait_for(&self, begun: u64, timeout: Duration) -> bool {
        let start = Instant::now();
        let mut state = self.state.lock();
        while state.ended < begun {
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return false;
            }
            state = self.changed.wait(state, left);
        }
        true
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.state.lock().ended += 1;
        self.0.changed.notify();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn files_that_were_begun_are_waited_for() {
        let writing = Arc::new(Writing::default());
        assert!(writing.wait(Duration::ZERO), "none was begun");
        let first = writing.begin();
        assert!(!writing.wait(Duration::from_millis(1)));
        thread::scope(|scope| {
            let waits = scope.spawn(|| writing.wait(LONG));
            drop(first);
            assert!(waits.join().unwrap());
        });
        let _second = writing.begin();
        assert!(writing.wait_for(1, Duration::ZERO), "a later file is not waited for");
        assert!(!writing.wait(Duration::ZERO));
    }
}
