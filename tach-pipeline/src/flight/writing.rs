//! The file that is being written after a slow span, for flushes that wait for it.

use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(crate) struct Writing {
    state: Mutex<State>,
    changed: Condvar,
}

/// Files are written one after the other.
#[derive(Default)]
struct State {
    begun: u64,
    ended: u64,
}

/// A file that was begun. It has ended when this is dropped.
pub(crate) struct Begun(Arc<Writing>);

impl Writing {
    pub(crate) fn begin(self: &Arc<Self>) -> Begun {
        self.lock().begun += 1;
        Begun(Arc::clone(self))
    }

    /// Waits until the files that were begun before the call have ended. Returns `false` if that
    /// takes longer than `timeout`.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let begun = self.lock().begun;
        self.wait_for(begun, timeout)
    }

    fn wait_for(&self, begun: u64, timeout: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, |it| it.ended < begun);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.lock().ended += 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use log::LevelFilter;

    use super::*;
    use crate::filter::{Filters, Levels};
    use crate::frame::Wanted;
    use crate::queue::WhenFull;
    use crate::shared::{Flight, Shared};
    use crate::stats::{Counts, SinkCounts};

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
    /// The process may be about to end, whatever the sinks say.
    #[test]
    fn a_flush_waits_for_the_file_even_if_a_sink_fails() {
        let filters = Filters::new(Levels::all(LevelFilter::Info), None, LevelFilter::Info);
        let counts = Counts { sinks: vec![Arc::new(SinkCounts::default())], ..Counts::default() };
        let wanted = Wanted::default();
        let mut shared = Shared::new(filters, None, wanted, 4096, WhenFull::Block, None, counts);
        let flight = shared.flight.insert(Flight::new(None));
        let begun = flight.writing.begin();
        let short = Duration::from_millis(20);
        shared.flush.done(0, u64::MAX, None);
        let late = shared.flush(short).unwrap_err();
        assert!(late.is_timeout() && late.to_string().contains("recorder's file"), "{late}");
        shared.flush.done(0, u64::MAX, Some("full".to_owned()));
        let start = Instant::now();
        let failed = shared.flush(short).unwrap_err();
        assert!(start.elapsed() >= short);
        assert_eq!(failed.to_string(), "full");
        shared.flush.done(0, u64::MAX, None);
        drop(begun);
        shared.flush(short).unwrap();
    }
}
