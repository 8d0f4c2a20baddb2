//! The thread that writes: it polls the queues, orders, formats, and hands lines to the sinks.

use core::mem;
use core::panic::AssertUnwindSafe;
use std::panic;
use std::sync::Arc;

use tach_core::UnixTime;

use super::order::ByTime;
use super::queue::Queue;
use super::record::{self, Record};
use super::report;
use super::shared::Shared;
use super::sinks::Open;
use super::wake::Sleep;

/// With so many bytes in one round there are more to come: the next begins at once.
const BUSY: usize = 16 * 1024;

pub(super) struct BackEnd {
    shared: Arc<Shared>,
    inboxes: Vec<Inbox>,
    order: Option<ByTime>,
    sinks: Vec<Open>,
    flushed: u64,
    reopened: u64,
}

/// A queue, and what was taken out of it.
struct Inbox {
    queue: Arc<Queue>,
    /// Whole records, and perhaps the first part of one that is longer than the queue.
    bytes: Vec<u8>,
}

impl BackEnd {
    pub(super) fn new(shared: Arc<Shared>, order: Option<ByTime>, sinks: Vec<Open>) -> Self {
        Self { shared, inboxes: Vec::new(), order, sinks, flushed: 0, reopened: 0 }
    }

    /// Runs until there are no handles any more.
    pub(super) fn run(mut self) {
        let mut sleep = Sleep::new(&self.shared.waker);
        loop {
            // Both are looked at before the queues: what was logged before them is seen.
            let is_ending = self.shared.is_ending();
            let requested = self.shared.flush.requested();
            let is_asked = requested != self.flushed || is_ending;
            // No code of the user's runs here unguarded. Should this file panic, logging goes on.
            let round = panic::catch_unwind(AssertUnwindSafe(|| self.round(is_asked)));
            let Round { found, failure } = round.unwrap_or_default();
            if requested != self.flushed {
                self.flushed = requested;
                self.shared.flush.done(requested, failure);
            }
            if is_ending {
                break;
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
        }
        self.shared.flush.end();
    }

    /// Writes all that is in the queues now, also what is held back if `is_asked`.
    fn round(&mut self, is_asked: bool) -> Round {
        let reopenings = self.shared.reopenings();
        let new = self.shared.queues.since(self.inboxes.len());
        self.inboxes.extend(new.into_iter().map(|queue| Inbox { queue, bytes: Vec::new() }));
        let mut found = 0;
        for at in 0..self.inboxes.len() {
            found += self.read(at);
        }
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

    /// Takes in all that is in a queue; how many bytes there were.
    fn read(&mut self, at: usize) -> usize {
        let inbox = &mut self.inboxes[at];
        let before = inbox.bytes.len();
        inbox.queue.take(&mut inbox.bytes);
        let found = inbox.bytes.len() - before;
        let dropped = inbox.queue.take_dropped();
        if found > 0 {
            let mut bytes = mem::take(&mut inbox.bytes);
            let mut rest = &bytes[..];
            while let Some((frame, after)) = record::frame(rest) {
                self.record(frame);
                rest = after;
            }
            let done = bytes.len() - rest.len();
            bytes.drain(..done);
            self.inboxes[at].bytes = bytes;
        }
        if let Some(dropped) = dropped {
            self.record(&report::dropped(&dropped, self.shared.now(), "records dropped"));
        }
        found
    }

    #[inline]
    fn record(&mut self, frame: &[u8]) {
        let Some(record) = Record::decode(frame) else { return };
        let time = record.time.unix_time();
        match &mut self.order {
            Some(order) => order.push(frame, time),
            None => write(&mut self.sinks, &record, time),
        }
    }

    /// Writes the records that were held long enough, or all.
    fn release(&mut self, is_all: bool) {
        let Some(order) = &mut self.order else { return };
        let now: UnixTime = self.shared.now();
        while let Some(held) = if is_all { order.pop_any() } else { order.pop(now) } {
            if let Some(record) = Record::decode(&held.frame) {
                write(&mut self.sinks, &record, held.time);
            }
            order.give_back(held);
        }
    }
}

/// How a round went.
#[derive(Default)]
struct Round {
    /// Bytes of records.
    found: usize,
    /// Why a flush was in vain.
    failure: Option<String>,
}

fn write(sinks: &mut [Open], record: &Record<'_>, time: UnixTime) {
    for sink in sinks {
        sink.record(record, time);
    }
}
