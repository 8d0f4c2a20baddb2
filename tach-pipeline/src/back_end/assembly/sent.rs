//! Passes spans that have ended to the sinks, if their trace is kept.

use core::time::Duration;

use tach_core::{Instant, UnixTime};

use crate::durations::Collected;
use crate::sink::all::Sinks;
use crate::spans::span::Span;
use crate::spans::tail::Tail;
use crate::spans::tail::waiting::WaitingTraces;
use crate::stats::Counts;

/// How often a round decides about traces that wait.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

pub(crate) struct Sent {
    /// `None` if every trace is kept.
    pub(crate) tail: Option<WaitingTraces>,
    /// When the durations of spans were last passed to the sinks.
    exported: Instant,
    /// How many durations had been recorded by then.
    exported_count: u64,
}

impl Sent {
    pub(crate) fn new(tail: Option<Tail>, redacted: &[String]) -> Self {
        let tail = tail.map(|options| WaitingTraces::new(options, redacted.to_vec()));
        Self { tail, exported: Instant::now(), exported_count: 0 }
    }

    pub(super) fn begin_round(&mut self) {
        if let Some(tail) = &mut self.tail {
            tail.begin_round();
        }
    }

    /// Passes the span on, or keeps it until it is decided whether its trace is kept.
    pub(super) fn span(&mut self, span: &Span<'_>, sinks: &mut Sinks) {
        match &mut self.tail {
            Some(tail) => tail.span(span, Instant::now(), |span| sinks.span(span)),
            None => sinks.span(span),
        }
    }

    pub(super) fn end_round(&mut self, counts: &Counts, sinks: &mut Sinks) {
        if let Some(tail) = &mut self.tail {
            tail.end_round(Instant::now(), &counts.early, |span| sinks.span(span));
        }
    }

    /// Decides about all traces that have ended.
    pub(super) fn flush(&mut self, sinks: &mut Sinks) {
        if let Some(tail) = &mut self.tail {
            tail.flush(Instant::now(), |span| sinks.span(span));
        }
    }

    /// Decides about all traces, since no more spans come.
    pub(super) fn finish(&mut self, counts: &Counts, sinks: &mut Sinks) {
        if let Some(tail) = &mut self.tail {
            tail.finish(Instant::now(), &counts.early, |span| sinks.span(span));
        }
    }

    /// Returns whether a span waits for the next round.
    pub(super) fn is_waiting(&self) -> bool {
        self.tail.as_ref().is_some_and(WaitingTraces::is_waiting)
    }

    /// Returns when the next round must be for traces or durations that wait, if any do.
    pub(super) fn due(&self, collects_durations: bool, sinks: &Sinks) -> Option<Duration> {
        if self.tail.as_ref().is_some_and(|tail| !tail.is_empty()) {
            return Some(BETWEEN_LOOKS);
        }
        // Calls that add durations don't wake the back end.
        let period = sinks.period().filter(|_| collects_durations)?;
        Some(period.saturating_sub(Instant::now().saturating_duration_since(self.exported)))
    }

    /// Passes the durations of spans to the sinks that take durations: once each period, and if
    /// `is_asked` and there are new ones.
    pub(super) fn export_durations(
        &mut self,
        durations: &Collected,
        now: UnixTime,
        is_asked: bool,
        sinks: &mut Sinks,
    ) {
        let Some(period) = sinks.period() else { return };
        let at = Instant::now();
        let is_due = at.saturating_duration_since(self.exported) >= period;
        if !is_due && !is_asked {
            return;
        }
        let count = durations.collect();
        let has_new = count != self.exported_count;
        if !is_due && !has_new {
            return;
        }
        (self.exported, self.exported_count) = (at, count);
        if count == 0 {
            return;
        }
        if sinks.durations(durations, has_new, now) {
            durations.lock().end_period(now);
        }
    }
}
