//! The thread that writes to one of several sinks. Each sink has a thread, so that a sink that
//! stalls delays no other sink.

mod link;

use core::mem;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::io;
use std::panic;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;

use tach_core::UnixTime;
use tach_sinks::adapter::{Failure, Pauses};

use self::link::{Handover, State, reserved};
pub(super) use self::link::{Link, levels_with_room};
use super::batch::Batch;
use super::gathering::Gathering;
use super::owner::Output;
use crate::progress::Progress;
use tach_record::host;

/// The timeout of a wait that only a notification should end. `Duration::MAX` is not used, since
/// some platforms can't add it to a time.
const FOREVER: Duration = Duration::from_secs(24 * 60 * 60);

/// The reason after a panic of the pipeline's own code.
const PANICKED: &str = "the sink's thread panicked";

/// The back end's control of the thread.
pub(super) struct Thread {
    pub(super) link: Arc<Link>,
    /// `None` after the thread was joined.
    pub(super) handle: Option<JoinHandle<Option<String>>>,
}

/// A thread that has no sink yet.
pub(super) struct Idle {
    to: mpsc::Sender<Writing>,
    handle: JoinHandle<Option<String>>,
}

/// Makes the thread of a sink begin to write. The events that come before wait.
pub(crate) type Begin = Box<dyn FnOnce() + Send>;

impl Idle {
    /// Starts the thread. It ends at once if no sink comes.
    ///
    /// # Errors
    ///
    /// If the thread can't be started.
    pub(super) fn start() -> io::Result<Self> {
        let (to, from) = mpsc::channel::<Writing>();
        let handle = host::spawn("tach-sink", move || from.recv().ok().and_then(Writing::run))?;
        Ok(Self { to, handle })
    }

    /// Gives the thread its lanes. At most `buffer_bytes` may wait in all lanes together. The
    /// function that is returned rotates files for which that is due at the start, unless they were
    /// `started` before.
    pub(super) fn serve(
        self,
        lanes: Vec<ServedLane>,
        buffer_bytes: usize,
        progress: &Arc<Progress>,
        started: Option<UnixTime>,
    ) -> (Thread, Begin) {
        // Gather no more events than a lane's reserve: up to there the lane always has room, so no
        // caller waits meanwhile.
        let most = reserved(buffer_bytes, lanes.len());
        let enough = lanes.iter().map(|lane| lane.output.enough(most));
        let link = Arc::new(Link::new(enough, buffer_bytes));
        let progress = Arc::clone(progress);
        let mut writing = Writing { link: Arc::clone(&link), lanes, progress, reopened: 0 };
        let Self { to, handle } = self;
        let begin = move || {
            if let Some(now) = started {
                writing.lanes.iter_mut().for_each(|lane| lane.output.start(now));
            }
            let _ended = to.send(writing);
        };
        (Thread { link, handle: Some(handle) }, Box::new(begin))
    }
}

impl Thread {
    /// Requests that the thread writes all events, flushes the writer and reports the flush
    /// `number` as done.
    pub(super) fn flush(&self, number: u64) {
        let mut state = self.link.lock();
        state.flush = number;
        self.link.notify(state);
    }

    /// Requests that the thread opens its file again.
    pub(super) fn reopen(&self) {
        let mut state = self.link.lock();
        state.reopenings += 1;
        self.link.notify(state);
    }

    /// Requests that the thread writes all events and ends.
    pub(super) fn end(&self) {
        let mut state = self.link.lock();
        state.is_ending = true;
        self.link.notify(state);
    }

    /// Waits until the thread ends. If some events could not be written, returns the reason.
    pub(super) fn join(&mut self) -> Option<String> {
        let done = self.handle.take()?.join();
        done.unwrap_or_else(|_| Some("the thread of a sink panicked".to_owned()))
    }
}

/// Ends the thread if the pipeline could not be built. Otherwise the thread has ended already.
impl Drop for Thread {
    fn drop(&mut self) {
        self.end();
    }
}

/// The thread's own state.
struct Writing {
    link: Arc<Link>,
    lanes: Vec<ServedLane>,
    progress: Arc<Progress>,
    reopened: u64,
}

struct Job {
    flush: u64,
    reopenings: u64,
    is_ending: bool,
}

impl Writing {
    fn run(mut self) -> Option<String> {
        self.progress.signals.waker.mark_thread();
        loop {
            let job = self.next_job();
            let reopens = job.reopenings != self.reopened;
            self.reopened = job.reopenings;
            let mut first = None;
            let deadline = self.progress.flush.deadline();
            for (at, lane) in self.lanes.iter_mut().enumerate() {
                let is_flush = job.is_ending || lane.is_to_flush(job.flush, deadline);
                // Panics of the user's code are caught where it is called. This catches a panic of
                // the pipeline's own code, so that logging goes on.
                let work = AssertUnwindSafe(|| lane.work(&self.link, at, is_flush, reopens));
                let done = match panic::catch_unwind(work) {
                    Ok((done, has_dropped)) => {
                        if has_dropped {
                            // Wake the back end, which reports the loss: it may be parked for long.
                            self.progress.signals.waker.wake();
                        }
                        done
                    }
                    Err(_) => Some(Err(lane.output.owner.counts.cannot_write(&PANICKED))),
                };
                if job.is_ending {
                    first = first.or(done.unwrap_or_else(|| Err(lane.output.waits())).err());
                } else if let (true, Some(done)) = (is_flush, done) {
                    lane.flushed = job.flush;
                    let failure = lane.output.given_up.take().or(done.err());
                    self.progress.flush.done(lane.index, job.flush, failure);
                } else if lane.flushed == job.flush {
                    // Report no failure: nobody waits for these events.
                    lane.output.given_up = None;
                }
            }
            if job.is_ending {
                return first;
            }
        }
    }

    /// Waits until there is work.
    fn next_job(&mut self) -> Job {
        let mut state = self.link.lock();
        loop {
            let State { flush, reopenings, is_ending, .. } = *state;
            let is_asked = reopenings != self.reopened || is_ending;
            let deadline = self.progress.flush.deadline();
            let lanes = self.lanes.iter_mut().zip(&mut state.lanes);
            let due = lanes.map(|(lane, waiting)| lane.due(waiting, (flush, deadline), is_asked));
            let due = due.min();
            let due = due.unwrap_or(FOREVER);
            if is_asked || due.is_zero() {
                self.link.notify(state);
                return Job { flush, reopenings, is_ending };
            }
            state = self.link.wait(state, due);
        }
    }
}

/// One output of the thread, and the events that are being written to the output.
pub(super) struct ServedLane {
    output: Output,
    /// The index among all outputs of the pipeline.
    index: usize,
    batch: Batch,
    gathering: Gathering,
    /// The last flush that was done.
    flushed: u64,
    /// The tries of the flush that is not done.
    tries: Failure,
}

impl ServedLane {
    pub(super) fn new(output: Output, index: usize, batch: Batch) -> Self {
        let gathering = Gathering::new(output.max_delay());
        let tries = Failure::new(Pauses::OF_FLUSHES);
        Self { output, index, batch, gathering, flushed: 0, tries }
    }

    /// Returns whether the requested flush is to be tried now. The first of the callers waits until
    /// `deadline`.
    fn is_to_flush(&self, requested: u64, deadline: Option<Instant>) -> bool {
        requested != self.flushed && self.pause(deadline).is_zero()
    }

    /// Returns the pause before the next try of a flush. A pause that a remote receiver asks for is
    /// kept. Otherwise tries once more before the callers give up, in case the receiver works
    /// again.
    fn pause(&self, deadline: Option<Instant>) -> Duration {
        match deadline {
            _ if self.output.asks_for_pause() => self.output.receiver_pause(),
            Some(deadline) => self.tries.pause_until(deadline),
            None => self.tries.pause().max(self.output.receiver_pause()),
        }
    }

    /// Takes the waiting events if they have waited long enough, if a flush is to be done or if
    /// `is_asked`. Returns how long the thread may sleep until the lane must be served again.
    fn due(
        &mut self,
        waiting: &mut Handover,
        (flush, deadline): (u64, Option<Instant>),
        is_asked: bool,
    ) -> Duration {
        let is_asked = is_asked || self.is_to_flush(flush, deadline);
        let waits = !waiting.pending.is_empty() && !waiting.has_enough();
        let delay = if waits { self.gathering.left() } else { Duration::ZERO };
        if self.batch.is_empty() && (is_asked || delay.is_zero()) {
            mem::swap(&mut self.batch, &mut waiting.pending);
            self.output.took();
            self.gathering.end();
        }
        if is_asked {
            return Duration::ZERO;
        }
        let delay = if delay.is_zero() { FOREVER } else { delay };
        let due = self.output.due(&self.batch).unwrap_or(FOREVER).min(delay);
        let is_requested = flush != self.flushed;
        if is_requested { due.min(self.pause(deadline)) } else { due }
    }

    /// Writes events of the lane `at` of `link`. Returns `None` if a flush has to be tried again,
    /// and whether events were dropped.
    fn work(
        &mut self,
        link: &Link,
        at: usize,
        is_flush: bool,
        reopens: bool,
    ) -> (Option<Result<(), String>>, bool) {
        let mut done = Some(Ok(()));
        if is_flush || reopens {
            done = self.flush(link, at);
        } else {
            self.output.write(&mut self.batch);
        }
        if reopens {
            self.output.renew(&mut self.batch);
        }
        if !self.output.is_left(&self.batch) {
            self.tries.succeeded();
        } else if is_flush {
            self.tries.happened();
        }
        self.output.publish_failure();
        let dropped = self.output.owner.dropped.take();
        if let Some(dropped) = dropped {
            dropped.add_to(&mut link.lock().lanes[at].dropped);
        }
        (done, dropped.is_some())
    }

    /// Writes all events. Returns `None` if a remote receiver may take the rest later. A local sink
    /// is tried once.
    fn flush(&mut self, link: &Link, at: usize) -> Option<Result<(), String>> {
        if self.output.asks_for_pause() {
            let waits =
                self.output.is_left(&self.batch) || !link.lock().lanes[at].pending.is_empty();
            return (!waits).then_some(Ok(()));
        }
        let before = self.output.write_now(&mut self.batch);
        if self.output.is_left(&self.batch) {
            return None;
        }
        if !self.batch.is_empty() {
            return Some(before);
        }
        let mut state = link.lock();
        mem::swap(&mut self.batch, &mut state.lanes[at].pending);
        self.output.took();
        link.notify(state);
        let after = self.output.write_now(&mut self.batch);
        if self.output.is_left(&self.batch) {
            return None;
        }
        Some(before.and(after).and_then(|()| self.output.flush(&self.batch)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tach_sinks::adapter::Receiver;

    use super::link::tests::batch;
    use super::*;
    use crate::incident::{Incident, Reporter};
    use crate::sink::owner::output;
    use crate::sink::worker::{Patience, Worker};
    use crate::stats::{Counts, SinkCounts};

    /// A receiver that asks for a pause, and accepts what is sent during the pause nevertheless.
    struct Pausing {
        asks: bool,
    }

    impl Receiver for Pausing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn is_remote(&self) -> bool {
            true
        }

        fn pause(&self) -> Duration {
            Duration::from_secs(1)
        }

        fn asks_for_pause(&self) -> bool {
            self.asks
        }
    }

    /// The pause that a receiver asks for is kept.
    #[test]
    fn a_flush_is_tried_before_the_end_of_a_pause_that_nobody_asks_for() {
        let link = Link::new([0], 600);
        for asks in [false, true] {
            let counts = Arc::new(SinkCounts::default());
            let output = output(Box::new(Pausing { asks }), counts, Reporter::default());
            let mut lane = ServedLane::new(output, 0, Batch::new());
            assert!(lane.flush(&link, 0).is_some(), "nothing waits");
            lane.batch = batch(10);
            assert!(link.add(0, &batch(10), 0));
            assert_eq!(lane.flush(&link, 0), (!asks).then_some(Ok(())));
            assert_eq!(link.lock().lanes[0].pending.len(), if asks { 10 } else { 0 });
            let soon = Instant::now() + Duration::from_secs(60);
            assert_eq!(lane.is_to_flush(1, Some(soon)), !asks);
            assert!(!lane.is_to_flush(1, None), "nobody waits");
            lane.tries.happened();
            assert!(!lane.is_to_flush(1, Some(soon)) && !lane.is_to_flush(0, None));
        }
    }

    /// The flush at the end does not wait for such a sink again.
    #[test]
    fn a_sink_that_stalls_stalls_until_it_writes() {
        let counts = Arc::new(SinkCounts::default());
        counts.is_stalled.set(true);
        let (one, link) = (batch(10), Arc::new(Link::new([0], 10)));
        assert!(link.add(0, &one, 0));
        let progress = Arc::new(Progress::new(Counts::default(), &Arc::default()));
        let patience = Patience::Stalled(Duration::ZERO);
        let mut worker =
            Worker::new((link, 0), patience, progress, Arc::clone(&counts), Reporter::default());
        worker.offer_and_wait(&one);
        assert_eq!((counts.dropped.get(), counts.is_stalled.get()), (1, true));
    }

    /// The thread may have given up what had no room.
    #[test]
    fn room_alone_ends_no_stall() {
        let counts = Arc::new(SinkCounts::default());
        let (one, link) = (batch(10), Arc::new(Link::new([0], 10)));
        let (sender, said) = mpsc::channel();
        let reporter = Reporter::new(Some(Arc::new(move |incident| {
            sender.send(matches!(incident, Incident::Recovered { .. })).unwrap();
        })));
        let progress = Arc::new(Progress::new(Counts::default(), &Arc::default()));
        let (to, patience) = ((Arc::clone(&link), 0), Patience::Stalled(Duration::ZERO));
        let mut worker = Worker::new(to, patience, progress, Arc::clone(&counts), reporter);
        assert!(worker.offer(&one));
        for (written, expected) in [(0, &[false][..]), (0, &[]), (10, &[]), (0, &[true])] {
            worker.offer_and_wait(&one);
            link.lock().lanes[0].pending.clear(0);
            assert!(worker.offer(&one));
            assert_eq!(said.try_iter().collect::<Vec<_>>(), expected);
            counts.bytes.add(written);
        }
    }

    #[test]
    fn recovered_events_without_room_are_counted() {
        let counts = Arc::new(SinkCounts::default());
        let link = Arc::new(Link::new([0], 10));
        let progress = Arc::new(Progress::new(Counts::default(), &Arc::default()));
        let patience = Patience::Stalled(Duration::ZERO);
        let (to, reporter) = ((Arc::clone(&link), 0), Reporter::default());
        let mut worker = Worker::new(to, patience, progress, Arc::clone(&counts), reporter);
        worker.add_left(&batch(10));
        assert_eq!((counts.dropped.get(), link.lock().lanes[0].pending.len()), (0, 10));
        assert!(link.add(0, &batch(65 * 1024 * 1024), 64 * 1024 * 1024));
        worker.add_left(&batch(10));
        assert_eq!((counts.dropped.get(), worker.unreported()), (1, 1));
    }
}
