//! Decides which traces are kept, after they have ended.

pub mod waiting;

use core::time::Duration;

use super::slow::Slow;
use super::span::{Dropped, Span};
use super::status::{Code, Status};
use crate::faults::{Fault, unless};
use crate::trace::sampling::Ratio;
use tach_record::frame::{self, Fields, SpanPart};

const MAX_BYTES: usize = 32 * 1024 * 1024;
const LEAST_BYTES: usize = 64 * 1024;
const MAX_DELAY: Duration = Duration::from_secs(30);

/// Which traces are kept when they have ended, for `Builder::tail`.
///
/// A trace is kept if one of its spans has the status `error`, is slower than a limit, or is sent
/// unfinished (`Builder::unfinished_spans`). A part of the others is kept too. The back end
/// holds the spans of a trace until its root has ended; the calls cost nothing more.
///
/// # Distributed traces
///
/// The decision is about the spans of this process: a trace begins here with its root, or with a
/// span whose parent is in another service. [`Sampling`](crate::Sampling) decides before, and what
/// it decided is propagated. Other services do not learn what was decided here. They send their
/// parts of a trace that was not kept here, and do not send other parts of one that was kept if
/// they decide by themselves. Traces of the ratio are complete if all services have the same ratio,
/// since the id of the trace decides. If errors must be complete too, sample in a collector that
/// receives the spans of all services.
///
/// If several spans of one trace have their parents in another service, the first of them that ends
/// decides. If it keeps the trace, the others are kept too.
///
/// # Bounds
///
/// A trace that exceeds [`max_delay`](Self::max_delay) or [`max_bytes`](Self::max_bytes) before its
/// root has ended is decided about early, by the spans that have ended;
/// `Stats::early_traces` counts these. So is each open trace when the process ends.
/// A flush sends the traces that have ended, and leaves open ones alone.
///
/// A span whose record a [`WhenFull`](tach_record::queue::WhenFull) policy dropped decides nothing.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use tach_pipeline::{Pipeline, Tail};
///
/// // Traces with errors, those slower than a second, and a hundredth of the others.
/// let tail = Tail::ratio(0.01).slower_than(Duration::from_secs(1));
/// let builder = Pipeline::builder().tail(tail);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Tail {
    pub(crate) others: Ratio,
    slow: Slow,
    pub(crate) max_bytes: usize,
    pub(crate) max_delay: Duration,
}

impl Tail {
    /// Keeps traces with errors and this part of the others, from 0 to 1. Another ratio fails
    /// `Builder::build`.
    ///
    /// The part is one of all traces, and chosen as by
    /// [`Sampling::ratio`](crate::Sampling::ratio): it has no effect if that ratio is lower.
    ///
    /// # Examples
    ///
    /// ```
    /// let tail = tach_pipeline::Tail::ratio(0.01);
    /// ```
    pub fn ratio(ratio: f64) -> Self {
        Self {
            others: Ratio::new(ratio),
            slow: Slow::default(),
            max_bytes: MAX_BYTES,
            max_delay: MAX_DELAY,
        }
    }

    /// Keeps traces with a span that takes this long or longer, except for spans with a limit by
    /// [name](Self::span_slower_than).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Tail;
    ///
    /// let tail = Tail::ratio(0.0).slower_than(Duration::from_millis(500));
    /// ```
    pub fn slower_than(mut self, limit: Duration) -> Self {
        self.slow.others(limit);
        self
    }

    /// Keeps traces with a span of this name in the program that takes this long or longer.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Tail;
    ///
    /// // A report is slow by nature.
    /// let tail = Tail::ratio(0.0)
    ///     .slower_than(Duration::from_millis(500))
    ///     .span_slower_than("report", Duration::from_secs(60));
    /// ```
    pub fn span_slower_than(mut self, name: &str, limit: Duration) -> Self {
        self.slow.named(name, limit);
        self
    }

    /// Sets how many bytes of spans may wait: 64 KiB or more, by default 32 MiB. Beyond, the oldest
    /// traces are decided about. A quarter as much beside is for the ids of kept traces, see
    /// [`max_delay`](Self::max_delay).
    ///
    /// # Examples
    ///
    /// ```
    /// let tail = tach_pipeline::Tail::ratio(0.0).max_bytes(8 * 1024 * 1024);
    /// ```
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets how long a span may wait for the root of its trace to end: by default 30 seconds, and
    /// not zero.
    /// Spans that come within that time after their trace was kept are kept too. That holds for as
    /// many traces as [`max_bytes`](Self::max_bytes) has room for, by default about 37,000:
    /// later spans of an older trace are decided about anew.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let tail = tach_pipeline::Tail::ratio(0.0).max_delay(Duration::from_secs(5));
    /// ```
    pub fn max_delay(mut self, time: Duration) -> Self {
        self.max_delay = time;
        self
    }

    /// Returns a fault for each option that can't work.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.others.check(&mut faults, |ratio| format!("Tail::ratio({ratio:?})"));
        faults.extend(self.slow.faults("Tail"));
        let call = || format!("Tail::max_bytes({})", self.max_bytes);
        unless(
            self.max_bytes >= LEAST_BYTES,
            &mut faults,
            call,
            "65536 bytes (64 KiB) or more may wait",
        );
        let call = || format!("Tail::max_delay({:?})", self.max_delay);
        unless(!self.max_delay.is_zero(), &mut faults, call, "a delay is longer than zero");
        faults
    }

    /// Returns whether the trace must be kept because of this span.
    pub(crate) fn keeps(&self, span: &Span<'_>) -> bool {
        span.is_unfinished || self.slow.has(span) || span.has_error()
    }
}

impl Span<'_> {
    /// Returns whether no span of this pipeline and of the same trace encloses the span.
    pub(crate) fn is_local_root(&self) -> bool {
        self.parent() == 0
    }

    /// Returns whether the status of the span is an error.
    pub(crate) fn has_error(&self) -> bool {
        let mut status = Status::default();
        for record in self.records() {
            if frame::is_of_span(record) {
                let part = SpanPart::read(record);
                let fields = part.as_ref().and_then(SpanPart::span_fields);
                for (key, value) in fields.into_iter().flat_map(Fields::parts) {
                    let _other = value.map(|value| status.field(key, value));
                }
            } else {
                status.event_record(record);
            }
        }
        status.dropped(self.dropped);
        status.code == Code::Error
    }
}

impl Status {
    /// Takes the errors among dropped events.
    pub fn dropped(&mut self, dropped: Dropped) {
        if dropped.parts.errors > 0 && self.code == Code::Unset {
            self.set(Code::Error, "");
        }
    }
}
