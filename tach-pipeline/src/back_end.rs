//! The thread that reads the queues, orders the records, and passes them to the sinks.

pub(crate) mod order;

use core::mem;
use core::panic::AssertUnwindSafe;
use std::panic;
use std::sync::Arc;

use tach_core::UnixTime;

use self::order::ByTime;
use crate::frame::{self, Frame};
use crate::queue::Queue;
use crate::report;
use crate::shared::Shared;
use crate::shared::wake::Sleep;
use crate::sink::Open;

/// With so many bytes in one round more are on their way, and the next begins at once.
const BUSY: usize = 16 * 1024;
/// The inbox of the queue that threads share at their ends, which is created first.
const COMMON: usize = 0;

pub(crate) struct BackEnd {
    shared: Arc<Shared>,
    inboxes: Vec<Inbox>,
    order: Option<ByTime>,
    sinks: Vec<Open>,
    flushed: u64,
    reopened: u64,
}

struct Inbox {
    queue: Arc<Queue>,
    /// Whole records, and perhaps the first part of a long one.
    bytes: Vec<u8>,
    /// Room for the whole queue, so that taking from it never allocates.
    room: usize,
}

impl Inbox {
    fn new(queue: Arc<Queue>) -> Self {
        let room = queue.capacity();
        Self { queue, bytes: Vec::with_capacity(room), room }
    }
}

impl BackEnd {
    pub(crate) fn new(shared: Arc<Shared>, order: Option<ByTime>, sinks: Vec<Open>) -> Self {
        Self { shared, inboxes: Vec::new(), order, sinks, flushed: 0, reopened: 0 }
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
                        && self.inboxes.iter().all(|inbox| inbox.queue.is_empty())
                });
            }
        };
        self.shared.flush.end(at_the_end);
    }

    /// Writes everything in the queues, and if `is_asked`, held records too.
    fn round(&mut self, is_asked: bool) -> Round {
        let reopenings = self.shared.reopenings();
        let new = self.shared.queues.since(self.inboxes.len());
        self.inboxes.extend(new.into_iter().map(Inbox::new));
        // Read before a thread's own queue and written after it, because a thread logs here last.
        let mut found = self.take(COMMON);
        for at in COMMON + 1..self.inboxes.len() {
            found += self.take(at);
            self.take_apart(at);
        }
        self.take_apart(COMMON);
        self.release(is_asked);
        let mut failure = None;
        if is_asked {
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

    /// Moves everything out of a queue and returns the number of bytes.
    fn take(&mut self, at: usize) -> usize {
        let Inbox { queue, bytes, .. } = &mut self.inboxes[at];
        let before = bytes.len();
        queue.take(bytes);
        bytes.len() - before
    }

    /// Passes on the records that were taken, and reports dropped ones.
    fn take_apart(&mut self, at: usize) {
        let inbox = &mut self.inboxes[at];
        let dropped = inbox.queue.take_dropped();
        if inbox.bytes.is_empty() && dropped.is_none() {
            return;
        }
        // Read after the records were taken, so that no record is later.
        let now = self.order.as_ref().map_or(UnixTime::EPOCH, |_| self.shared.now());
        let mut bytes = mem::take(&mut inbox.bytes);
        let mut rest = &bytes[..];
        while let Some((frame, after)) = frame::split(rest) {
            self.record(frame, now);
            rest = after;
        }
        let done = bytes.len() - rest.len();
        bytes.drain(..done);
        if bytes.is_empty() {
            // A record may have been longer than the queue.
            bytes.shrink_to(self.inboxes[at].room);
        }
        self.inboxes[at].bytes = bytes;
        if let Some(dropped) = dropped {
            let now = self.shared.now();
            self.record(&report::dropped(&dropped, now, "records dropped"), now);
        }
    }

    #[inline]
    fn record(&mut self, frame: &[u8], now: UnixTime) {
        let Some(record) = Frame::read(frame) else { return };
        let time = record.time.unix_time();
        match &mut self.order {
            Some(order) => order.push(frame, time, now),
            None => write(&mut self.sinks, &record, time),
        }
    }

    /// Writes the records that were held long enough, or all.
    fn release(&mut self, is_all: bool) {
        let Some(order) = &mut self.order else { return };
        let now: UnixTime = self.shared.now();
        let is_all = order.has_gone_back(now) || is_all;
        while let Some(held) = if is_all { order.pop_any() } else { order.pop(now) } {
            if let Some(record) = Frame::read(&held.frame) {
                write(&mut self.sinks, &record, held.time);
            }
            order.give_back(held);
        }
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
