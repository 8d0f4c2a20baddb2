//! The records for an OpenTelemetry collector.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, bail};
use tach_log::Format as _;
use tach_otlp::encode::LogRecords;
use tach_otlp::{Exporter, Otlp, Rejection, Signal};
use tach_pipeline::Survivor;

use crate::output::{self, faint};

const SIGNALS: [Signal; 3] = [Signal::Logs, Signal::Traces, Signal::Metrics];
/// The most bytes of a request, as of the pipeline's sink: some proxies refuse more than 1 MiB.
const MOST_BYTES: usize = 512 * 1024;
/// For how long requests are sent again to a collector that can't be reached or is busy.
const LONGEST: Duration = Duration::from_secs(15);

/// A collector that gets what is left.
pub(super) struct Collector {
    exporter: Exporter,
    /// The items of the next request of each signal.
    items: Vec<(Signal, Vec<u8>)>,
}

impl Collector {
    pub(super) fn new(endpoint: &str) -> anyhow::Result<Self> {
        let otlp = Otlp::from_env().endpoint(endpoint);
        for ignored in otlp.ignored_variables() {
            output::report(faint(ignored));
        }
        if !SIGNALS.iter().all(|&signal| otlp.sends(signal)) {
            bail!(
                "a variable forbids to send: OTEL_SDK_DISABLED, OTEL_LOGS_EXPORTER, \
                 OTEL_TRACES_EXPORTER or OTEL_METRICS_EXPORTER; unset it"
            );
        }
        let exporter = otlp.exporter()?;
        let items = SIGNALS.into_iter().map(|signal| (signal, Vec::new())).collect();
        Ok(Self { exporter, items })
    }

    /// Sends an event that the process has formatted for a sink, if that was a collector. Returns
    /// whether it was.
    pub(super) fn formatted(&mut self, sink: &str, event: &[u8]) -> anyhow::Result<bool> {
        let Some(signal) = signal(sink) else { return Ok(false) };
        self.add(signal, |items| items.extend_from_slice(event))?;
        Ok(true)
    }

    /// Sends the records and the spans, and waits until the collector has accepted everything.
    pub(super) fn rest(&mut self, survivor: &Survivor) -> anyhow::Result<()> {
        let mut failed = None;
        let mut add = |signal, item: &[u8]| {
            self.add(signal, |items| items.extend_from_slice(item)).map_err(|error| {
                failed = Some(error);
                std::io::Error::other("the collector failed")
            })
        };
        let mut record = Vec::new();
        let each = survivor.each(|event| {
            record.clear();
            LogRecords::new().write(event, &mut record)?;
            add(Signal::Logs, &record)
        });
        let each = each.and_then(|()| survivor.each_otlp_span(|span| add(Signal::Traces, span)));
        // The error of the collector says more.
        failed.map_or(Ok(()), Err)?;
        each?;
        for signal in SIGNALS {
            self.send(signal)?;
        }
        Ok(())
    }

    fn add(&mut self, signal: Signal, add: impl FnOnce(&mut Vec<u8>)) -> anyhow::Result<()> {
        let Some((_, items)) = self.items.iter_mut().find(|(of, _)| *of == signal) else {
            return Ok(());
        };
        add(items);
        if items.len() < MOST_BYTES { Ok(()) } else { self.send(signal) }
    }

    fn send(&mut self, signal: Signal) -> anyhow::Result<()> {
        let Self { exporter, items } = self;
        let Some((_, items)) = items.iter_mut().find(|(of, _)| *of == signal) else {
            return Ok(());
        };
        if items.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let to = exporter.endpoint(signal).to_owned();
        loop {
            match exporter.send(signal, items) {
                Ok(()) => break,
                Err(Rejection::Never { count: Some(0), reason }) => {
                    output::report(faint(format!("{to} warns: {reason}")));
                    break;
                }
                Err(Rejection::Later { error, .. }) => {
                    let pause = exporter.pause(signal);
                    if start.elapsed() + pause > LONGEST {
                        return Err(error).with_context(|| format!("can't send to {to}"));
                    }
                    thread::sleep(pause);
                }
                Err(Rejection::Whole { reason } | Rejection::Never { reason, .. }) => {
                    bail!("{to} refuses what it is sent: {reason}");
                }
            }
        }
        items.clear();
        Ok(())
    }
}

/// Returns what a collector's sink with that name takes, by the paths of HTTP and gRPC. Returns
/// `None` for any other sink.
fn signal(sink: &str) -> Option<Signal> {
    let is_of = |path: &str, service: &str| sink.ends_with(path) || sink.contains(service);
    [
        (Signal::Logs, "/logs", ".LogsService/"),
        (Signal::Traces, "/traces", ".TraceService/"),
        (Signal::Metrics, "/metrics", ".MetricsService/"),
    ]
    .into_iter()
    .find(|(_, path, service)| sink.starts_with("http") && is_of(path, service))
    .map(|(signal, ..)| signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_s_name_says_what_it_takes() {
        for (sink, expected) in [
            ("http://localhost:4318/v1/logs", Some(Signal::Logs)),
            ("https://collector/otlp/v1/traces", Some(Signal::Traces)),
            (
                "http://collector:4317/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
                Some(Signal::Metrics),
            ),
            ("/var/log/app/logs", None),
            ("syslog", None),
        ] {
            assert_eq!(signal(sink), expected, "{sink}");
        }
    }
}
