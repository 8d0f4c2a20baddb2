//! The sink that sends to an OpenTelemetry collector.

mod content;

use core::time::Duration;
use std::io;
use std::sync::Arc;

use tach_otlp::{Exporter, Otlp, Rejection, Signal, adapter};
use tach_sinks::adapter::Receiver;

use super::AnyFormat;
use super::target::{Lane, Target};
use super::{Sink, kind};
use crate::channel::current_thread;
use crate::error::{Class, Error};
use crate::sync::Lock;

const SIGNALS: [Signal; 3] = [Signal::Logs, Signal::Traces, Signal::Metrics];

/// Room for the records of a few seconds, so that a restart of the collector loses none.
const BUFFER_BYTES: usize = 16 * 1024 * 1024;
/// The most bytes of records in a request. While a distant collector answers, records gather for
/// the next request, so requests should be large. But some proxies refuse bodies over 1 MiB.
const MOST_BYTES: usize = 512 * 1024;

impl Error {
    /// Converts the error for an option of a collector, or for a variable, that can't be used.
    pub(crate) fn otlp(error: &tach_otlp::Error) -> Self {
        Self::other(Class::Option, error.to_string(), None)
    }
}

impl Sink {
    /// Sends log records, spans and the durations of spans to a collector of OpenTelemetry, as OTLP
    /// over HTTP or gRPC. [`Otlp::signals`] chooses among them. Spans and durations need the
    /// feature `tracing`, and a [`Pipeline`](crate::Pipeline) that is a layer of the subscriber.
    ///
    /// The sink has a thread, and one connection to each server. Records that a collector does not
    /// take for now are sent again, for [`Otlp::retry_for`], and hold up no others. Records that it
    /// refuses for good are dropped, counted in a record, and reported as
    /// [`Incident::Refused`](crate::Incident::Refused). Records may arrive in another order than
    /// they were sent. [`Stats`](crate::Stats) counts each signal apart, by its address.
    ///
    /// # Log records
    ///
    /// The target is the scope, the message is the body, and fields are attributes, beside those
    /// that [`Otlp::metadata`] chooses and, as `span`, the names of the spans. The format is that
    /// of [`LogRecords`](tach_otlp::encode::LogRecords).
    ///
    /// # Spans
    ///
    /// The fields `otel.name`, `otel.kind`, `otel.status_code` and `otel.status_description` set
    /// the name, the kind and the status. The target is the scope, and other fields are attributes.
    /// An event within a span is an event of the span. A span that [follows from] another one links
    /// to it.
    ///
    /// The status is an error, unless a field sets it to `ok`, if an event of the level `ERROR` is
    /// right within the span, or if a thread leaves the span because it panics. An error among the
    /// fields is `exception.message`, with its sources `exception.stacktrace`. A field
    /// `exception.type` states its type.
    ///
    /// A span ends when a thread leaves it for the last time, or when its last handle is dropped if
    /// no thread has entered it. It is sent when the last handles of the span and of its children
    /// are dropped, with up to 3 MiB.
    ///
    /// A [`filter`](Self::filter) drops spans and the events within spans too. To filter records
    /// otherwise, add a sink for each signal.
    ///
    /// # Durations
    ///
    /// The metric `traces.span.metrics.duration` has the durations in seconds, as an exponential
    /// histogram for each name of a span, sampled or not. [`Durations`](crate::Durations) has
    /// further options. The metric is sent each [`Otlp::metric_interval`], and at a flush if a span
    /// has ended since.
    ///
    /// [follows from]: https://docs.rs/tracing/latest/tracing/struct.Span.html#method.follows_from
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use tach_pipeline::{Otlp, Pipeline, Sink};
    ///
    /// Pipeline::builder().sink(Sink::otlp(Otlp::from_env())).init()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    ///
    /// Two collectors, one of them only for spans:
    ///
    /// ```no_run
    /// use tach_pipeline::{Otlp, Pipeline, Signal, Sink};
    ///
    /// let traces = Otlp::from_env().endpoint("http://jaeger:4318").signals([Signal::Traces]);
    /// let others = Otlp::from_env().signals([Signal::Logs, Signal::Metrics]);
    /// Pipeline::builder().sink(Sink::otlp(traces)).sink(Sink::otlp(others)).init()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn otlp(options: Otlp) -> Sink<kind::OneFormat> {
        Sink::to(kind::OneFormat(Box::new(options))).buffer_bytes(BUFFER_BYTES)
    }
}

impl Target for Otlp {
    fn name(&self) -> String {
        let signal = SIGNALS.into_iter().find(|&signal| self.sends(signal)).unwrap_or(Signal::Logs);
        adapter::endpoint(self, signal)
    }

    fn ignored_variables(&self) -> Vec<Error> {
        Self::ignored_variables(self).iter().map(Error::otlp).collect()
    }

    fn is_disabled(&self) -> bool {
        !SIGNALS.into_iter().any(|signal| self.sends(signal))
    }

    fn takes_spans(&self) -> bool {
        adapter::wants(self, Signal::Traces)
    }

    fn is_sampled_by_env(&self) -> bool {
        self.takes_spans() && adapter::is_from_env(self)
    }

    fn again(&self) -> Box<dyn Target> {
        Box::new(adapter::in_child(self))
    }

    fn open(self: Box<Self>, _: Arc<AnyFormat>) -> Result<Vec<Lane>, Error> {
        let exporter = self.exporter().map_err(|error| Error::otlp(&error))?;
        let exporter = Arc::new(Lock::new(exporter));
        let sent = SIGNALS.into_iter().filter(|&signal| self.sends(signal));
        let lane = |signal| Lane {
            name: adapter::endpoint(&self, signal),
            content: content::of(&self, signal),
            writer: Box::new(Collector::new(Arc::clone(&exporter), signal)),
        };
        Ok(sent.map(lane).collect())
    }
}

/// The writer for one signal of a collector. The signals of a sink share an exporter and a thread.
struct Collector {
    exporter: Arc<Lock<Exporter>>,
    signal: Signal,
    max_delay: Duration,
    retry_for: Duration,
    /// Whether the last failure asked for a pause.
    asks_for_pause: bool,
    /// What the collector has refused for good of the last request.
    refused: Option<Refused>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Refused {
    All,
    Some(u64),
    /// The request as a whole.
    Whole,
}

impl Collector {
    fn new(exporter: Arc<Lock<Exporter>>, signal: Signal) -> Self {
        let of_all = exporter.lock();
        // Metrics don't wait for more, since the back end has already gathered a whole period of
        // them.
        let max_delay =
            if signal == Signal::Metrics { Duration::ZERO } else { of_all.max_delay(signal) };
        let retry_for = of_all.retry_for();
        drop(of_all);
        Self { exporter, signal, max_delay, retry_for, asks_for_pause: false, refused: None }
    }
}

impl Receiver for Collector {
    /// # Errors
    ///
    /// If the collector can't be reached, asks for a later try, or refuses records for good.
    fn write(&mut self, records: &[u8]) -> io::Result<usize> {
        self.refused = None;
        let sent = current_thread::silently(|| self.exporter.lock().send(self.signal, records));
        let (refused, reason) = match sent {
            Ok(()) => return Ok(records.len()),
            Err(Rejection::Later { error, after }) => {
                self.asks_for_pause = after.is_some();
                return Err(error);
            }
            Err(Rejection::Whole { reason }) => (Refused::Whole, reason),
            Err(Rejection::Never { count, reason }) => {
                (count.map_or(Refused::All, Refused::Some), reason)
            }
        };
        self.refused = Some(refused);
        Err(io::Error::other(reason))
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn most_bytes(&self) -> usize {
        MOST_BYTES
    }

    fn max_delay(&self) -> Duration {
        self.max_delay
    }

    fn pause(&self) -> Duration {
        self.exporter.lock().pause(self.signal)
    }

    fn asks_for_pause(&self) -> bool {
        self.asks_for_pause && !self.pause().is_zero()
    }

    fn has_refused(&self) -> bool {
        self.refused.is_some()
    }

    fn has_refused_whole(&self) -> bool {
        self.refused == Some(Refused::Whole)
    }

    fn refused_count(&self) -> Option<u64> {
        if let Some(Refused::Some(count)) = self.refused { Some(count) } else { None }
    }

    fn end_pause(&mut self) {
        self.exporter.lock().end_pause(self.signal);
    }

    fn retries_for(&self) -> Duration {
        self.retry_for
    }
}
