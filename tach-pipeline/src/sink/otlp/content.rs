//! What a collector takes, each signal in protobuf.

use core::time::Duration;
use std::sync::Arc;

use tach_core::UnixTime;
use tach_otlp::adapter::{self, SpanLimits};
use tach_otlp::{Otlp, Signal, Temporality};
use tach_spans::otlp;

use crate::durations::Collected;
use crate::filter::{Levels, OWN_TARGET};
use crate::sink::content::Content;
use crate::sink::content::of_spans::{OfSpans, WriteDurations, WriteSpans};
use crate::spans::span::Span;

/// Returns what a collector takes of a signal.
pub(super) fn of(options: &Otlp, signal: Signal) -> Content {
    match signal {
        Signal::Logs => Content::events(Arc::new(options.log_records())),
        Signal::Traces => {
            Content::of_spans(OfSpans::Each(Box::new(Spans(adapter::span_limits(options)))))
        }
        Signal::Metrics => {
            let (period, temporality) = adapter::metrics(options);
            Content::of_spans(OfSpans::Durations(Box::new(Durations { period, temporality })))
        }
    }
}

struct Spans(SpanLimits);

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
