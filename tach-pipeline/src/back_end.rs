//! The thread that reads the queues, merges the records by time, and passes them to the sinks.

#[cfg(feature = "tracing")]
pub(crate) mod assembly;
#[cfg(not(feature = "tracing"))]
#[path = "back_end/no_assembly.rs"]
pub(crate) mod assembly;
mod backtrace;
mod cause;
mod inboxes;
mod repeats;
pub(crate) mod selection;
mod survival;
#[cfg(test)]
mod test_file;

use core::mem;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic;
use std::sync::Arc;
use std::time::Instant;

use tach_core::UnixTime;
use tach_record::keep::Keeper;

use self::assembly::{Spans, Whole};
use self::cause::Cause;
use self::inboxes::Inboxes;
use self::selection::{Selected, Selection};
use self::survival::Kept;
use crate::channel::bell::is_end_between;
use crate::channel::wake::Sleep;
use crate::frame::{self, Frame};
use crate::incident::Incident;
use crate::limits::Limits;
use crate::report::{self, panic_text};
use crate::shared::Shared;
use crate::sink::all::Sinks;
use crate::sink::unreported::{Occasion, Reported};
use crate::stats::Dropped;

/// If a round finds at least this many bytes, more records are probably on their way. The next
/// round then begins without a pause.
const BUSY: usize = 64 * 1024;
/// How long records over the rate limit are gathered for one report, unless a flush comes. Also the
/// longest park while something waits that no call announces.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// The timeout of a park that only a call should end. `Duration::MAX` is not used, since some
/// platforms can't add it to a time.
const FOREVER: Duration = Duration::from_secs(24 * 60 * 60);

/// The cause given for a panic in a round. It is likely the user's clock: panics of all other code
/// of the user are caught where the code is called.
const PANICKED: &str = "can't write: the pipeline's thread panicked, as a clock may do";

pub(crate) struct BackEnd {
    shared: Arc<Shared>,
    inboxes: Inboxes,
    whole: Whole,
    selection: Selection,
    spans: Spans,
    sinks: Sinks,
    /// `None` if the records don't outlive the process.
    keeper: Option<Box<dyn Keeper>>,
    interval: Duration,
    /// When records were last read from a file that somebody may have cut meanwhile.
    cut: Option<Instant>,
    /// How many events were taken out of the queues and not passed to the sinks yet.
    in_hand: u64,
    /// When records over the rate limit were last looked for, and when they were last reported.
    refusals: (UnixTime, Reported),
    flushed: u64,
    reopened: u64,
}

impl BackEnd {
    pub(crate) fn new(
        shared: Arc<Shared>,
        selection: Selection,
        spans: Spans,
        sinks: Sinks,
        keeper: Option<Box<dyn Keeper>>,
        interval: Duration,
    ) -> Self {
        let refusals = (shared.now(), Reported::default());
        Self {
            inboxes: Inboxes::new(Some(shared.channel.common())),
            whole: Whole::new(shared.wanted),
            spans,
            selection,
            sinks,
            keeper,
            interval,
            cut: None,
            in_hand: 0,
            refusals,
            flushed: 0,
            reopened: 0,
            shared,
        }
    }

    /// Runs until the pipeline ends: when its last handle is dropped.
    pub(crate) fn run(mut self) {
        let channel = Arc::clone(&self.shared.channel);
        let progress = Arc::clone(&self.shared.progress);
        let (flush, waker) = (&progress.flush, &progress.signals.waker);
        let mut sleep = Sleep::new(waker, self.interval);
        let mut last_panic = None;
        let at_the_end = loop {
            // Read the end and the flush requests before the queues. So the round sees all records
            // that were logged before the end or the request.
            let is_ending = channel.is_ending();
            let requested = flush.requested();
            let request = (requested != self.flushed).then_some(requested);
            let cause = if is_end_between(self.flushed, requested) {
                Some(Cause::ProcessEnds)
            } else if is_ending {
                Some(Cause::PipelineEnds)
            } else {
                request.map(|_| Cause::Flush)
            };
            self.flushed = requested;
            // Panics of the user's code are caught where it is called. This catches a panic of the
            // pipeline's own code, so that logging goes on. If the same panic comes twice in a row,
            // stop: it would repeat without end.
            let round = panic::catch_unwind(AssertUnwindSafe(|| self.round(request, cause)));
            let text = round.as_ref().err().map(|payload| panic_text(&**payload).to_owned());
            let is_stuck = text.is_some() && text == last_panic;
            last_panic = text;
            if is_ending || is_stuck {
                let failure = round.is_err().then(|| PANICKED.to_owned());
                let finished = panic::catch_unwind(AssertUnwindSafe(|| self.sinks.finish()));
                let failure = failure.or(finished.unwrap_or_else(|_| Some(PANICKED.to_owned())));
                if let Some(reason) = last_panic.as_deref().filter(|_| is_stuck) {
                    self.sinks.reporter.report(&Incident::Stopped { reason });
                }
                self.keep(|keeper, kept| keeper.end(failure.is_none(), kept));
                break failure;
            }
            let found = round.unwrap_or_else(|_| {
                flush.failed(requested, PANICKED);
                0
            });
            if found < BUSY {
                let due = self.keep(|keeper, kept| keeper.due(kept)).flatten();
                let longest = self.longest_park().min(due.unwrap_or(FOREVER));
                let Self { shared, inboxes, selection, spans, flushed, .. } = &mut self;
                let may_report = selection.is_waiting()
                    || spans.are_waiting()
                    || due.is_some()
                    || shared.limits.as_ref().is_some_and(Limits::are_exceeded);
                sleep.sleep(waker, found > 0 || may_report, longest, || {
                    let wake_up = inboxes.fall_asleep(&channel.queues)?;
                    (flush.requested() == *flushed).then_some(wake_up)
                });
            }
        };
        flush.end(at_the_end.as_deref());
    }

    /// Returns how long the back end may stay parked: for long, unless memory is to be freed, a
    /// loss is to be reported, or events, a trace or durations are due at some time.
    fn longest_park(&self) -> Duration {
        let Self { shared, inboxes, spans, sinks, .. } = self;
        let counts = &shared.progress.counts;
        let waits = inboxes.are_to_trim()
            || sinks.are_to_report()
            || counts.sinks().iter().any(|sink| sink.waiting() > 0);
        let longest = if waits { BETWEEN_LOOKS } else { FOREVER };
        longest.min(spans.due(sinks).unwrap_or(FOREVER))
    }

    /// Writes the records in the queues, and returns how many bytes were found. If there is a
    /// cause, leaves no record for the next round.
    fn round(&mut self, flush: Option<u64>, cause: Option<Cause>) -> usize {
        // Only a flush or the pipeline's end may wait. What is left at an exit is recovered by the
        // next start.
        let may_wait = matches!(cause, Some(Cause::Flush | Cause::PipelineEnds));
        self.keep(|keeper, kept| {
            kept.sinks.begin_round(&kept.shared.filters);
            keeper.recover(kept, may_wait);
        });
        let reopenings = self.shared.progress.reopenings();
        let occasion = cause.map_or(Occasion::Round, Cause::occasion);
        let is_asked = cause.is_some();
        let is_dumping = self.spans.begin_dump(cause);
        let mut found = self.pass_on(is_asked || is_dumping);
        if is_asked || is_dumping {
            // The first pass leaves records that happened after it began. This pass takes those.
            found += self.pass_on(true);
        }
        let Self { shared, whole, selection, spans, sinks, .. } = self;
        spans.complete(whole);
        if let Some(cause) = cause {
            spans.finish(cause, sinks);
        }
        let now = shared.now();
        spans.end_dump(now);
        selection.end_round(now, is_asked, |record, time| sinks.record(record, time));
        sinks.report_queue_drops(occasion, now);
        self.report_refusals(now, occasion);
        self.spans.export_durations(now, is_asked, &mut self.sinks);
        let reopens = reopenings != self.reopened;
        self.reopened = reopenings;
        let shared = Arc::clone(&self.shared);
        if is_asked && self.keeper.is_some() {
            // Settle before the write too: while an earlier batch is not committed, no new batch is
            // marked, and the second `settle` would not wait for the records of this round.
            self.keep(|keeper, kept| keeper.settle(kept));
            self.write(|sinks| sinks.write(false));
            self.keep(|keeper, kept| keeper.settle(kept));
        }
        self.write(|sinks| match flush {
            Some(number) => {
                shared.run_errand(number, sinks);
                sinks.flush(number, occasion, reopens);
            }
            None => sinks.write(reopens),
        });
        found
    }

    /// Takes the records out of the queues, and reports dropped records. Passes on the records that
    /// no record still in a queue can precede, and keeps the others. Returns how many bytes were
    /// taken.
    fn pass_on(&mut self, is_asked: bool) -> usize {
        let start = self.shared.now();
        let channel = Arc::clone(&self.shared.channel);
        let pressure = &channel.signals.pressure;
        if let Some(keeper) = self.keeper.as_mut().filter(|_| pressure.is_on()) {
            keeper.note_pressure();
        }
        pressure.off();
        let (found, events) = self.inboxes.fill(&channel.queues, is_asked);
        self.in_hand += events as u64;
        let (new, all) = self.inboxes.queues();
        self.whole.add_threads(new, all);
        if self.keeper.is_some() && self.sinks.are_filters_new(&self.shared.filters) {
            // Write the events that the previous filters selected, before the new filters apply.
            self.write(|sinks| sinks.write(false));
        }
        self.sinks.begin_round(&self.shared.filters);
        self.spans.begin_round();
        if self.keeper.as_mut().is_some_and(|keeper| !keeper.is_whole()) {
            self.drop_all(start);
            // Drop also what was logged until now: it may have been torn when the file was cut.
            self.inboxes.fill(&channel.queues, true);
            self.drop_all(start);
        }
        // A call that was writing when the records were dropped may have left half of its own in
        // the file that was cut. So look for torn records for a while.
        let is_doubtful = self.cut.is_some_and(|cut| cut.elapsed() < BETWEEN_LOOKS);
        self.inboxes.begin_records(start);
        while self.pass_on_some(start, is_doubtful) {
            self.write(|sinks| sinks.write(false));
        }
        let Self { shared, inboxes, spans, sinks, .. } = self;
        // Read losses before passing spans on: a loss marks the open spans.
        for inbox in inboxes.awake() {
            if let Some(loss) = inbox.take_dropped() {
                sinks.queue_dropped(&loss);
                if loss.is_incomplete {
                    spans.suspect_loss();
                } else if loss.spans > 0 {
                    spans.suspect_end();
                }
            }
        }
        spans.end_round(sinks);
        if inboxes.settle(&shared.channel.queues) {
            self.whole.trim();
            spans.trim();
        }
        found
    }

    /// Drops all records that were read, since they may be torn.
    #[cold]
    fn drop_all(&mut self, now: UnixTime) {
        let mut count = 0;
        self.inboxes.begin_records(UnixTime::MAX);
        self.inboxes.records(UnixTime::MAX, |_, _, _| {
            count += 1;
            false
        });
        (self.cut, self.in_hand) = (Some(Instant::now()), 0);
        self.report_torn(count, now);
    }

    /// Reports how many records were dropped because they may be torn.
    fn report_torn(&mut self, count: u64, now: UnixTime) {
        if count == 0 {
            return;
        }
        let Self { shared, spans, sinks, .. } = self;
        spans.suspect_loss();
        let dropped = Dropped::new(count, now, now);
        shared.progress.signals.dropped.add(&dropped);
        let what = "records lost, since somebody cut the file of Builder::survive";
        let report = report::dropped(&dropped, now, what);
        if let Some(record) = Frame::read(&report) {
            sinks.record(&record, now);
        }
    }

    /// Calls a function with the keeper of the records, if the records outlive the process.
    fn keep<R>(&mut self, f: impl FnOnce(&mut dyn Keeper, &mut Kept<'_>) -> R) -> Option<R> {
        let Self { shared, inboxes, selection, sinks, keeper, .. } = self;
        Some(f(&mut **keeper.as_mut()?, &mut Kept { shared, inboxes, selection, sinks }))
    }

    /// Calls `write`, in which the sinks write. The records that they have written then count as
    /// written in the file too.
    fn write(&mut self, write: impl FnOnce(&mut Sinks)) {
        self.keep(|keeper, kept| keeper.prepare(kept));
        write(&mut self.sinks);
        self.keep(|keeper, kept| keeper.commit(kept));
    }

    /// Passes on the records of a round. If the records must be written before the next one,
    /// returns `true`.
    fn pass_on_some(&mut self, start: UnixTime, is_doubtful: bool) -> bool {
        let Self { shared, inboxes, whole, selection, spans, sinks, keeper, in_hand, .. } = self;
        let counts = &shared.progress.counts;
        let (is_kept, mut torn) = (keeper.is_some(), 0);
        counts.in_hand.set(*in_hand);
        let are_more = inboxes.records(start, |record, time, queue| {
            // Skip torn records: bytes that were cut off a file read as zeros.
            if is_doubtful && record.chunks_exact(8).any(|word| word == [0; 8]) {
                torn += 1;
                return false;
            }
            let record = if frame::has_callsite(record) { whole.of(record, queue) } else { record };
            if spans.part(record, time, queue) {
                return false;
            }
            *in_hand = in_hand.saturating_sub(1);
            counts.in_hand.set(*in_hand);
            spans.recorded(record, time);
            selection.record(record, time, &shared.filters, |record, time, selected| {
                match selected {
                    // A span contains all of its events, including repeated ones.
                    Selected::Written | Selected::Repeated => spans.event(record),
                    Selected::Released => spans.released(record),
                    Selected::Count => {}
                }
                if selected != Selected::Count {
                    sinks.came(record.level);
                }
                if selected != Selected::Repeated {
                    sinks.record(record, time);
                }
            });
            is_kept && sinks.is_full()
        });
        self.report_torn(torn, start);
        are_more
    }

    /// Reports the records over the rate limit, once a second at most or at the end.
    fn report_refusals(&mut self, now: UnixTime, occasion: Occasion) {
        let Some(limits) = &self.shared.limits else { return };
        let (from, reported) = &mut self.refusals;
        // If the clock was set back, report now rather than when the old time comes again.
        let is_due = now.checked_duration_since(*from).is_none_or(|since| since >= BETWEEN_LOOKS);
        if !reported.allows(occasion) || occasion == Occasion::Round && !is_due {
            return;
        }
        let from = mem::replace(from, now);
        limits.take_refused(&mut |callsite, count| {
            reported.now();
            self.sinks.reported_drops += count;
            let refused = Dropped::new(count, from, now);
            let report = report::refused(callsite, &refused, now);
            if let Some(record) = Frame::read(&report) {
                self.sinks.record(&record, now);
            }
        });
    }
}
