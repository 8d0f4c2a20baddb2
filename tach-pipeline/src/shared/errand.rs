//! Errands to the back end.

use std::sync::mpsc::{self, RecvTimeoutError};

use super::{FLUSH_TIMEOUT, Shared};
use crate::error::Error;
use crate::progress::check_waiter;
use crate::progress::flush::Why;
use crate::sink::all::Sinks;

impl Shared {
    /// Lets the back end call `f` between two records: the sinks have those that were logged before
    /// this call, and none that is logged after it. Returns what `f` returns.
    ///
    /// # Errors
    ///
    /// If the back end does not come to it in time. Then `f` is never called.
    pub(crate) fn between_records<R: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Sinks) -> R + Send + 'static,
    ) -> Result<R, Error> {
        check_waiter(&self.channel)?;
        let (answer, answered) = mpsc::channel();
        {
            // Hold the lock during the request: a fast back end must find the errand.
            let mut errand = self.errand.lock();
            let number = self.progress.request_flush(Why::Asked);
            let run = move |sinks: &mut Sinks| _ = answer.send(f(sinks));
            *errand = Some((number, Box::new(run)));
        }
        match answered.recv_timeout(FLUSH_TIMEOUT) {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Timeout) if self.errand.lock().take().is_some() => {
                Err(Error::timed_out(FLUSH_TIMEOUT, &[]))
            }
            // The back end has begun the errand, so wait for its end.
            Err(_) => answered.recv().map_err(|_| Error::ended()),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicBool, Ordering};
    use std::sync::Arc;
    use std::thread;

    use log::LevelFilter;

    use super::*;
    use crate::channel::Channel;
    use crate::faults::Faults;
    use crate::filter::{Filters, Levels};
    use crate::frame::Wanted;
    use crate::incident::Reporter;
    use crate::queue::WhenFull;
    use crate::sink::Patience;
    use crate::sink::all::Opened;
    use crate::stats::Counts;

    /// An earlier flush may have missed records that were logged before the errand.
    #[test]
    fn an_errand_waits_for_its_own_flush() {
        let filters = Filters::new(Levels::all(LevelFilter::Info), None, Vec::new());
        let channel = Channel::in_file(4096, WhenFull::Block, None);
        let shared =
            Shared::new(filters, None, Wanted::default(), channel, Counts::default(), None);
        let patience = Patience::WhileQueuesHaveRoom;
        let opened = Opened::new(Vec::new(), patience, 0, &[], &mut Faults::default());
        let (takers, progress) = (shared.filters.takers(), &shared.progress);
        let reporter = Reporter::default();
        let sinks = Sinks::start(opened, takers, reporter, progress, None, shared.now());
        let mut sinks = sinks.unwrap();
        let before = shared.progress.request_flush(Why::Asked);
        thread::scope(|scope| {
            let errand = scope.spawn(|| shared.between_records(|_| 7));
            while shared.errand.lock().is_none() {
                thread::yield_now();
            }
            shared.run_errand(before, &mut sinks);
            assert!(shared.errand.lock().is_some());
            shared.run_errand(before + 1, &mut sinks);
            assert_eq!(errand.join().unwrap().unwrap(), 7);
        });
        // Nobody runs this errand.
        let has_run = Arc::new(AtomicBool::new(false));
        let runs = Arc::clone(&has_run);
        let late = shared.between_records(move |_| runs.store(true, Ordering::Relaxed));
        assert!(late.unwrap_err().is_timeout());
        shared.run_errand(before + 9, &mut sinks);
        assert!(!has_run.load(Ordering::Relaxed));
    }
}
