//! What a collector takes, each signal in protobuf.

use core::time::Duration;

use tach_core::UnixTime;
use tach_otlp::adapter::{self, SpanLimits};
use tach_otlp::encode::LogRecords;
use tach_otlp::{Otlp, Signal, Temporality};
use tach_spans::otlp;

use crate::durations::Collected;
use crate::filter::{Levels, OWN_TARGET};
use crate::frame::Wanted;
use crate::sink::AnyFormat;
use crate::sink::content::Content;
use crate::sink::content::signals::{WriteDurations, WriteSpans};
use crate::spans::span::Span;
use crate::stats::Items;

/// Returns what a collector takes of a signal.
pub(super) fn of(options: &Otlp, signal: Signal) -> Box<dyn Content> {
    match signal {
        Signal::Logs => Box::new(options.log_records()),
        Signal::Traces => Box::new(Spans(adapter::span_limits(options))),
        Signal::Metrics => {
            let (period, temporality) = adapter::metrics(options);
            Box::new(Durations { period, temporality })
        }
    }
}

impl Content for LogRecords {
    fn items(&self) -> Items {
        Items::RECORDS
    }

    fn add_to(&self, wanted: &mut Wanted) {
        wanted.add(self);
    }

    fn format(&self) -> Option<&AnyFormat> {
        Some(self)
    }
}

struct Spans(SpanLimits);

impl Content for Spans {
    fn items(&self) -> Items {
        Items("spans")
    }

    fn add_to(&self, wanted: &mut Wanted) {
        (wanted.spans, wanted.place, wanted.thread) = (true, true, true);
    }

    fn spans(&self) -> Option<&dyn WriteSpans> {
        Some(self)
    }
}

impl WriteSpans for Spans {
    fn most_events(&self) -> u32 {
        self.0.events
    }

    fn write(&self, to: &mut Vec<u8>, span: &Span<'_>, levels: &Levels) {
        let takes = |level, target: &str| levels.enabled(level, target);
        otlp::write_span(to, span, &self.0, &takes);
    }
}

struct Durations {
    period: Duration,
    temporality: Temporality,
}

impl Content for Durations {
    fn items(&self) -> Items {
        Items::DURATIONS
    }

    fn add_to(&self, wanted: &mut Wanted) {
        wanted.durations = true;
    }

    fn durations(&self) -> Option<&dyn WriteDurations> {
        Some(self)
    }
}

impl WriteDurations for Durations {
    fn period(&self) -> Duration {
        self.period
    }

    fn is_delta(&self) -> bool {
        self.temporality == Temporality::Delta
    }

    fn write(&self, to: &mut Vec<u8>, durations: &Collected, now: UnixTime) {
        otlp::write_durations(to, durations, self.is_delta(), now, OWN_TARGET);
    }
}
