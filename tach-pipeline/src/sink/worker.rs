//! The events that the back end passes to a sink's thread.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use super::batch::{BATCH, Batch, dropped};
use super::formatter::Formatter;
use super::thread::Link;
use super::unreported::{Occasion, Unreported};
use crate::filter::Levels;
use crate::incident::{Incident, Reporter};
use crate::progress::Progress;
use crate::stats::{Dropped, SinkCounts};
use tach_sinks::Task;

/// How often the back end checks whether a sink makes progress, and whether a queue is half full.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
const BETWEEN_QUICK_LOOKS: Duration = Duration::from_micros(100);
/// The stall timeout while queues have room, and while the process ends and more than [`AT_END`]
/// waits.
const BRIEF: Duration = Duration::from_secs(1);
const BRIEFEST: Duration = Duration::from_millis(200);
/// How many more bytes than usual may wait for a sink when the process ends: the rest of the
/// queues.
const AT_END: usize = 64 * 1024 * 1024;

/// For how long the back end waits for a full sink.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    /// Until the sink has made no progress for that time.
    Stalled(Duration),
    /// As long as the sink makes progress and no queue is half full. So the wait costs no other
    /// sink a record.
    WhileQueuesHaveRoom,
}

impl Patience {
    /// Returns the present stall timeout, and when to ask again.
    fn now(self, progress: &Progress) -> (Duration, Duration) {
        if progress.flush.is_end_awaited() {
            return (BRIEFEST, BETWEEN_LOOKS);
        }
        match self {
            Self::Stalled(timeout) => (timeout, BETWEEN_LOOKS),
            Self::WhileQueuesHaveRoom if progress.signals.pressure.is_on() => {
                (Duration::ZERO, Duration::ZERO)
            }
            Self::WhileQueuesHaveRoom => (BRIEF, BETWEEN_QUICK_LOOKS),
        }
    }
}

/// The back end's side of one lane of a sink's thread.
pub(super) struct Worker {
    link: Arc<Link>,
    lane: usize,
    patience: Patience,
    /// Whether the pipeline has no other sink.
    pub(super) is_alone: bool,
    pub(super) progress: Arc<Progress>,
    /// How many bytes the sink had written when it was found to stall. Room alone does not end a
    /// stall: the sink's thread may have given events up.
    stalled_at: Option<u64>,
    /// Records that were dropped for the sink and not reported yet.
    unreported: Unreported,
    /// The reports that wait for the sink: how many events had come by the last one, and how many
    /// dropped events they state.
    reported: (u64, u64),
    /// How many records the sink had written when a record was last dropped.
    written: u64,
    pub(super) counts: Arc<SinkCounts>,
    reporter: Reporter,
}

impl Worker {
    pub(super) fn new(
        (link, lane): (Arc<Link>, usize),
        patience: Patience,
        progress: Arc<Progress>,
        counts: Arc<SinkCounts>,
        reporter: Reporter,
    ) -> Self {
        Self {
            link,
            lane,
            patience,
            is_alone: false,
            progress,
            stalled_at: None,
            unreported: Unreported::default(),
            reported: (0, 0),
            written: 0,
            counts,
            reporter,
        }
    }

    /// Returns how many events were dropped that were not reported, or whose report the sink has
    /// not written yet.
    pub(super) fn unreported(&self) -> u64 {
        self.unreported.count() + self.link.dropped(self.lane) + self.unwritten_reports()
    }

    /// Returns how many dropped events the reports state that wait for the sink.
    fn unwritten_reports(&self) -> u64 {
        let (came, count) = self.reported;
        if self.counts.left() < came { count } else { 0 }
    }

    /// Returns whether this is the lane with these counts.
    pub(super) fn is_of(&self, counts: &Arc<SinkCounts>) -> bool {
        Arc::ptr_eq(&self.counts, counts)
    }

    /// Adds the events of a process that has ended. Drops them if more than [`AT_END`] waits.
    pub(super) fn add_left(&mut self, events: &Batch) {
        if !self.link.add(self.lane, events, AT_END) {
            self.drop_most(events, !self.counts.is_failing.get());
        }
    }

    /// Returns whether there is room, or the sink fails or stalls.
    pub(super) fn has_room(&self) -> bool {
        let is_failing = self.stalled_at.is_some() || self.counts.is_failing.get();
        is_failing || self.link.has_room(self.lane, 0)
    }

    /// Returns the present stall timeout, and when to ask again. A pipeline's only sink has none:
    /// see [`Sink::stall_timeout`](crate::Sink::stall_timeout).
    fn patience(&self) -> (Duration, Duration) {
        let own = if self.is_alone { Patience::Stalled(Duration::MAX) } else { self.patience };
        own.now(&self.progress)
    }

    /// Returns the thread's state and the lane.
    pub(super) fn link(&self) -> (&Arc<Link>, usize) {
        (&self.link, self.lane)
    }

    /// Returns whether the sink gets the rest of the queues even without room: at the end, unless
    /// it stalls, so that no other sink waits for it.
    fn is_served_at_end(&self) -> bool {
        self.stalled_at.is_none() && self.progress.flush.is_end_awaited()
    }

    /// Notes that a sink has room. If it has stalled and was written since, the stall is over.
    fn found_room(&mut self) {
        let written = self.counts.bytes.get();
        if self.stalled_at.take_if(|stalled_at| written != *stalled_at).is_some() {
            let (sink, items, task) = (&*self.counts.name, self.counts.items.as_str(), Task::Write);
            self.reporter.report(&Incident::Recovered { sink, items, task });
        }
    }

    /// Adds the events if there is room, and returns whether there is.
    pub(super) fn offer(&mut self, batch: &Batch) -> bool {
        if self.is_served_at_end() && !self.link.has_room(self.lane, 0) {
            return self.link.add(self.lane, batch, AT_END);
        }
        let has_room = self.link.add(self.lane, batch, 0);
        if has_room {
            self.found_room();
        }
        has_room
    }

    /// If records were dropped for the sink and their report is [due](Self::dropped), adds a record
    /// that states their number. Unless a flush or the end asks for that record, waits until the
    /// buffer has room for other records too.
    pub(super) fn report_dropped(
        &mut self,
        occasion: Occasion,
        formatter: &Formatter,
        levels: &Levels,
    ) {
        let more = if occasion == Occasion::Round { 0 } else { BATCH };
        let Some(dropped) = self.dropped(occasion) else { return };
        if !self.link.has_room(self.lane, more) {
            return;
        }
        let mut batch = Batch::new();
        if formatter.write_dropped(&dropped, levels, &mut batch).is_err() {
            return;
        }
        if batch.is_empty() || self.link.add(self.lane, &batch, more) {
            self.counts.taken.add(batch.events_left() as u64);
            let stated = dropped.count + self.unwritten_reports();
            self.reported = (self.counts.came(), stated);
            self.dropped_is_reported(dropped.count);
        }
    }

    /// Takes the number of spans or durations that were dropped for the sink. The caller reports
    /// them through another sink, which takes records.
    pub(super) fn take_dropped(&mut self, occasion: Occasion) -> Option<Dropped> {
        let dropped = self.dropped(occasion)?;
        self.dropped_is_reported(dropped.count);
        Some(dropped)
    }

    /// Returns the dropped events that are to be reported now, if there are any: a second after the
    /// last report, once the sink has written other events or a flush asked.
    ///
    /// Without the last condition, a collector that refuses everything would also refuse the
    /// report, whose loss would have to be reported, without end.
    fn dropped(&mut self, occasion: Occasion) -> Option<Dropped> {
        if let Some(dropped) = self.link.take_dropped(self.lane) {
            dropped.add_to(&mut self.unreported.dropped);
            self.written = self.counts.written.get();
        }
        let works = self.counts.written.get() > self.written;
        self.unreported.due(occasion, works)
    }

    fn dropped_is_reported(&mut self, count: u64) {
        self.unreported.report();
        let (sink, items) = (Some(&*self.counts.name), self.counts.items.as_str());
        self.reporter.report(&Incident::Dropped { sink, items, count });
    }

    /// Waits until there is room for the events, and adds them. If the sink fails, or is still full
    /// after the stall timeout, adds only the events that have a reserve.
    #[cold]
    pub(super) fn offer_and_wait(&mut self, batch: &Batch) {
        let mut progress = self.counts.bytes.get();
        let mut since = Instant::now();
        while !self.offer(batch) {
            let now = self.counts.bytes.get();
            if now != progress {
                (progress, since) = (now, Instant::now());
            }
            let (stall_timeout, look) = self.patience();
            let left = stall_timeout.saturating_sub(since.elapsed());
            let is_failing = self.counts.is_failing.get();
            if self.stalled_at.is_some() || is_failing || left.is_zero() {
                // Mark the sink as stalled only after a real wait. If it is marked already, only a
                // successful write ends that.
                if !is_failing && since.elapsed() >= BRIEF {
                    self.counts.is_stalled.set(true);
                }
                return self.drop_most(batch, !is_failing);
            }
            self.link.wait_for_room(self.lane, left.min(look));
        }
    }

    /// Drops the events for which there is no reserve, and adds the others.
    fn drop_most(&mut self, batch: &Batch, stalls: bool) {
        let least = self.link.reserve(self.lane);
        let (kept, others) = batch.sifted(|it| it.is_some_and(|level| level.passes(least)));
        self.link.add(self.lane, &kept, usize::MAX);
        if let Some(dropped) = dropped(&others) {
            self.counts.refuse(&dropped);
            dropped.add_to(&mut self.unreported.dropped);
            self.written = self.counts.written.get();
        }
        if stalls {
            self.stalls();
        }
    }

    /// Notes that the sink stalls.
    fn stalls(&mut self) {
        if self.stalled_at.is_none() {
            self.stalled_at = Some(self.counts.bytes.get());
            let (sink, items) = (&*self.counts.name, self.counts.items.as_str());
            self.reporter.report(&Incident::Stalled { sink, items });
        }
    }
}
