//! The thread that reads the queues, merges the records by time, and passes them to the sinks.

mod inbox;
mod order;

use core::panic::AssertUnwindSafe;
use std::panic;
use std::sync::Arc;

use tach_core::UnixTime;

use self::inbox::Inbox;
use self::order::Merge;
use crate::frame::Frame;
use crate::report;
use crate::shared::Shared;
use crate::shared::wake::Sleep;
use crate::sink::Open;

/// With so many bytes in one round more are on their way, and the next begins at once.
const BUSY: usize = 16 * 1024;

pub(crate) struct BackEnd {
    shared: Arc<Shared>,
    inboxes: Vec<Inbox>,
    merge: Merge,
    sinks: Vec<Open>,
    flushed: u64,
    reopened: u64,
}

impl BackEnd {
    pub(crate) fn new(shared: Arc<Shared>, sinks: Vec<Open>) -> Self {
        let (inboxes, merge) = (Vec::new(), Merge::default());
        Self { shared, inboxes, merge, sinks, flushed: 0, reopened: 0 }
    }

    /// Runs until the last handle is dropped.
    pub(crate) fn run(mut self) {
        let mut sleep = Sleep::new(&self.shared.waker);
        let at_the_end = loop {
            // Both are read before the queues, so records logged before are seen.
            let is_ending = self.shared.is_ending();
            let requested = self.shared.flush.requested();
            let is_asked = requested != self.flushed || is_ending;
            // The user's code runs guarded. If this file panics, logging goes on.
            let round = panic::catch_unwind(AssertUnwindSafe(|| self.round(is_asked)));
            let Round { found, failure } = round.unwrap_or_else(|_| Round::panicked());
            if is_ending {
                break failure;
            }
            if requested != self.flushed {
                self.flushed = requested;
                self.shared.flush.done(requested, failure);
            }
            if found > 0 {
                sleep.had_records();
            }
            if found < BUSY {
                let shared = &self.shared;
                sleep.sleep(&shared.waker, || {
                    shared.flush.requested() == self.flushed
                        && self.inboxes.iter().all(Inbox::is_empty)
                });
            }
        };
        self.shared.flush.end(at_the_end);
    }

    /// Writes the records in the queues. If `is_asked`, none is left for the next round.
    fn round(&mut self, is_asked: bool) -> Round {
        let reopenings = self.shared.reopenings();
        let mut found = self.pass_on();
        let mut failure = None;
        if is_asked {
            // The records that the first pass left.
            found += self.pass_on();
            let now = self.shared.now();
            for sink in &mut self.sinks {
                failure = failure.or(sink.flush(now).err());
            }
        } else {
            self.sinks.iter_mut().for_each(Open::write);
        }
        if reopenings != self.reopened {
            self.reopened = reopenings;
            self.sinks.iter_mut().for_each(Open::reopen);
        }
        Round { found, failure }
    }

    /// Takes the records out of the queues, and passes on those that can't follow on a record yet
    /// to be taken. Reports dropped records, and returns how many bytes were taken.
    fn pass_on(&mut self) -> usize {
        let start = self.shared.now();
        let new = self.shared.queues.since(self.inboxes.len());
        self.inboxes.extend(new.into_iter().map(Inbox::new));
        let found = self.inboxes.iter_mut().map(Inbox::fill).sum();
        let Self { inboxes, merge, sinks, .. } = self;
        merge.records(inboxes, start, |record, time| write(sinks, record, time));
        for inbox in inboxes {
            if let Some(dropped) = inbox.take_dropped() {
                let now = self.shared.now();
                let report = report::dropped(&dropped, now, "records dropped");
                if let Some(record) = Frame::read(&report) {
                    write(sinks, &record, now);
                }
            }
        }
        found
    }
}

struct Round {
    found: usize,
    failure: Option<String>,
}

impl Round {
    /// A panic comes from the user's clock: all other code of the user's runs guarded.
    fn panicked() -> Self {
        let failure = "can't write the log: the thread that writes it panicked, as a clock may do";
        Self { found: 0, failure: Some(failure.to_owned()) }
    }
}

fn write(sinks: &mut [Open], record: &Frame<'_>, time: UnixTime) {
    for sink in sinks {
        sink.record(record, time);
    }
}
