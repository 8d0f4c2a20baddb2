//! The report as metrics, in the text format that Prometheus reads.
//!
//! Times are in seconds, as Prometheus's naming conventions demand.

use core::fmt::Write as _;

use super::errors::Distances;
use super::findings::Severity;
use super::report::Report;
use crate::Outcome;
use crate::measure::as_f64;

/// Picoseconds of a nanosecond and of a second.
const NANOSECOND: f64 = 1e3;
const SECOND: f64 = 1e12;

/// The metrics, as they are written.
#[derive(Debug, Default)]
struct Metrics(String);

impl Metrics {
    /// Adds a gauge with a sample for each of the labels.
    fn gauge<'a>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels<'a>, f64)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return;
        }
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} gauge");
        for (labels, value) in samples {
            let labels: Vec<_> =
                labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
            let labels =
                if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }
}

type Labels<'a> = Vec<(&'static str, &'a str)>;

/// Escapes a label's value.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Converts nanoseconds into seconds, to a picosecond. A quotient with all its digits would be read
/// as more than was measured.
fn seconds(ns: f64) -> f64 {
    // What is added makes a zero of a negative one.
    (ns * NANOSECOND).round() / SECOND + 0.0
}

fn flag(is_so: bool) -> f64 {
    if is_so { 1.0 } else { 0.0 }
}

/// Returns the metrics of a report, without a line end.
pub(super) fn text(report: &Report<'_>) -> String {
    let mut metrics = Metrics::default();
    let evidence = report.evidence();
    metrics.gauge(
        "tach_clock_good",
        "1 if tach doctor found no problem with this host's clock.",
        [(Vec::new(), flag(report.outcome() == Outcome::Good))],
    );
    let severity = |severity| match severity {
        Severity::Problem => "problem",
        Severity::Advice => "advice",
        Severity::Note => "note",
    };
    metrics.gauge(
        "tach_clock_finding",
        "1 for each finding, by its code.",
        report.findings().iter().map(|finding| {
            (vec![("code", finding.code), ("severity", severity(finding.severity))], 1.0)
        }),
    );
    metrics.gauge(
        "tach_clock_info",
        "1, with the source of the ticks and the reason for it.",
        [(
            vec![
                ("source", evidence.source),
                ("reason", evidence.reason),
                ("order", evidence.order),
                ("clocksource", evidence.host.clocksource.as_deref().unwrap_or_default()),
                ("hypervisor", evidence.host.hypervisor.as_deref().unwrap_or_default()),
            ],
            1.0,
        )],
    );
    utc(report, &mut metrics);
    measured(report, &mut metrics);
    metrics.0.trim_end().to_owned()
}

fn utc(report: &Report<'_>, metrics: &mut Metrics) {
    let evidence = report.evidence();
    let (ntp, daemons) = (&evidence.ntp, &evidence.daemons);
    let by = |who| vec![("by", who)];
    let statements = [
        ntp.as_ref().map(|ntp| (by("kernel"), flag(ntp.is_synchronized))),
        daemons.chrony.as_ref().map(|chrony| (by("chronyd"), flag(chrony.is_synchronized))),
        daemons.ptp.as_ref().map(|ptp| (by("ptp4l"), flag(ptp.has_grandmaster))),
    ];
    metrics.gauge(
        "tach_clock_synchronized",
        "1 if the OS clock is kept at UTC, by the statement of the kernel or of a daemon.",
        statements.into_iter().flatten(),
    );
    let synchronized = ntp.as_ref().filter(|ntp| ntp.is_synchronized);
    let chrony = daemons.chrony.as_ref().filter(|chrony| chrony.is_synchronized);
    let bounds = [
        synchronized.map(|ntp| (by("kernel"), seconds(as_f64(ntp.max_error_ns)))),
        chrony.map(|chrony| (by("chronyd"), seconds(chrony.max_error_ns))),
    ];
    metrics.gauge(
        "tach_clock_utc_error_bound_seconds",
        "The greatest distance of the OS clock from UTC, by the same statements.",
        bounds.into_iter().flatten(),
    );
    let offsets = [
        chrony.map(|chrony| (by("chronyd"), seconds(chrony.offset_ns))),
        daemons.ptp.as_ref().and_then(|ptp| Some((by("ptp4l"), seconds(ptp.offset_ns?)))),
    ];
    metrics.gauge(
        "tach_clock_source_offset_seconds",
        "The distance from the clock that a daemon follows.",
        offsets.into_iter().flatten(),
    );
}

fn measured(report: &Report<'_>, metrics: &mut Metrics) {
    let evidence = report.evidence();
    let unknown = evidence.not_measured();
    let is_known = |code: &str| unknown.iter().all(|one| one.code != code);
    let has = [
        ("skew", evidence.skew.as_ref().is_some_and(|cores| !cores.is_empty())),
        ("monotonic", evidence.errors.monotonic.is_some()),
        ("realtime", evidence.errors.realtime.is_some()),
    ];
    metrics.gauge(
        "tach_clock_measured",
        "0 if the machine was too busy to measure this to a microsecond.",
        has.iter()
            .filter(|(_, has)| *has)
            .map(|&(code, _)| (vec![("what", code)], flag(is_known(code)))),
    );
    metrics.gauge(
        "tach_clock_read_seconds",
        "The cost of a read.",
        evidence.costs.iter().map(|cost| (vec![("clock", cost.name)], seconds(cost.ns))),
    );
    let timelines =
        [("monotonic", evidence.errors.monotonic), ("realtime", evidence.errors.realtime)];
    let timelines = timelines
        .into_iter()
        .filter_map(|(name, found)| found.filter(Distances::is_known).map(|found| (name, found)));
    metrics.gauge(
        "tach_clock_timeline_error_seconds",
        "The greatest distance of tach's timeline from the OS's clock.",
        timelines.map(|(name, found)| (vec![("clock", name)], seconds(found.max_ns))),
    );
    let cores: Vec<_> = evidence
        .skew
        .iter()
        .flatten()
        .filter(|core| core.is_known())
        .map(|core| (core.core.to_string(), *core))
        .collect();
    let each = |value: fn(&crate::skew::Offset) -> f64| {
        cores.iter().map(move |(core, offset)| (vec![("core", &**core)], seconds(value(offset))))
    };
    metrics.gauge(
        "tach_clock_skew_seconds",
        "The offset of a core's counter from the first core's.",
        each(|offset| offset.ns),
    );
    metrics.gauge(
        "tach_clock_skew_bound_seconds",
        "How far that offset is known.",
        each(|offset| offset.bound_ns),
    );
    metrics.gauge(
        "tach_clock_frequency_hertz",
        "The frequency of the counter, as measured.",
        evidence.measured_hz.map(|hz| (Vec::new(), as_f64(hz))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_no_digits_below_a_picosecond() {
        assert_eq!(seconds(40.006_000_000_000_06).to_string(), "0.000000040006");
        assert_eq!(seconds(-0.000_4).to_string(), "0");
        assert_eq!(seconds(2.5e9).to_string(), "2.5");
    }

    #[test]
    fn labels_are_escaped_and_empty_metrics_are_left_out() {
        let mut metrics = Metrics::default();
        metrics.gauge("none", "No sample.", []);
        metrics.gauge("some", "Two.", [(Vec::new(), 1.0), (vec![("a", "x\"y\\\n")], 2.5e-8)]);
        let expected = "# HELP some Two.\n# TYPE some gauge\nsome 1\n\
                        some{a=\"x\\\"y\\\\\\n\"} 0.000000025\n";
        assert_eq!(metrics.0, expected);
    }
}
