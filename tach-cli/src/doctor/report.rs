//! The report for people, and its verdict.

use core::fmt;

use serde::Serialize;

use super::errors::Distances;
use super::evidence::Evidence;
use super::findings::{Finding, Severity, findings};
use super::host::Device;
use crate::Outcome;
use crate::measure::as_f64;
use crate::output::{Ns, bad, faint, good, heading, warning};

#[derive(Debug, Serialize)]
pub(crate) struct Report<'a> {
    verdict: Verdict,
    findings: Vec<Finding>,
    #[serde(flatten)]
    evidence: &'a Evidence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Good,
    GoodWithAdvice,
    Bad,
}

impl<'a> Report<'a> {
    pub(crate) fn new(evidence: &'a Evidence) -> Self {
        let findings = findings(evidence);
        let verdict = match findings.first().map(|worst| worst.severity) {
            None | Some(Severity::Note) => Verdict::Good,
            Some(Severity::Advice) => Verdict::GoodWithAdvice,
            Some(Severity::Problem) => Verdict::Bad,
        };
        Self { verdict, findings, evidence }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        if self.verdict == Verdict::Bad { Outcome::Problem } else { Outcome::Good }
    }
}

/// A line with a name and its value.
fn row(f: &mut fmt::Formatter<'_>, name: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(f, "  {name:<12} {value}")
}

/// Like [`row`], if there is a value.
fn known(f: &mut fmt::Formatter<'_>, name: &str, value: Option<impl fmt::Display>) -> fmt::Result {
    value.map_or(Ok(()), |value| row(f, name, value))
}

fn listed(values: &[String]) -> Option<String> {
    (!values.is_empty()).then(|| values.join(" "))
}

impl Report<'_> {
    fn clock(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let evidence = self.evidence;
        writeln!(f, "{}", heading("Clock"))?;
        let source = if evidence.source == "os" { "OS clock" } else { "CPU counter" };
        row(f, "source", format_args!("{source}: {}", evidence.reason_text))?;
        let order = match evidence.order {
            "ordered-read" => "by an ordered read: threads share nothing",
            "enforced" => "by a maximum that all threads share",
            _ => "by the OS clock",
        };
        row(f, "order", order)?;
        let counter = &evidence.counter;
        let kind = if counter.is_invariant { "invariant" } else { "not invariant" };
        known(f, "counter", counter.name.map(|name| format!("{name}, {kind}")))?;
        let hz = |hz: u64| format!("{:.6} MHz", as_f64(hz) / 1e6);
        let measured = evidence.measured_hz.map(|measured| format!("{} measured", hz(measured)));
        let declared = match counter.declared_hz {
            Some(declared) => format!("{} declared", hz(declared)),
            None => "none declared by the CPU".to_owned(),
        };
        known(f, "frequency", measured.map(|measured| format!("{measured}, {declared}")))
    }

    fn host(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (evidence, host) = (self.evidence, &self.evidence.host);
        writeln!(f, "\n{}", heading("Host"))?;
        let kernel = host.kernel.as_ref().map(|kernel| format!("{}, {kernel}", evidence.platform));
        row(f, "system", kernel.as_ref().unwrap_or(&evidence.platform))?;
        known(f, "CPU", host.cpu.as_ref())?;
        known(f, "CPU flags", listed(&host.tsc_flags))?;
        let available = host.available_clocksources.as_deref().unwrap_or("unknown");
        let clocksource = host.clocksource.as_ref();
        known(f, "clocksource", clocksource.map(|name| format!("{name} (of {available})")))?;
        known(f, "parameters", listed(&host.kernel_parameters))?;
        known(f, "hypervisor", host.hypervisor.as_ref())?;
        let vmclock = match host.vmclock {
            Device::Absent => None,
            Device::Unreadable => Some("/dev/vmclock0, not readable"),
            Device::Readable => Some("/dev/vmclock0"),
        };
        known(f, "disruptions", vmclock)?;
        known(f, "PTP", listed(&host.ptp_clocks))?;
        let shifted = host.time_namespace.map(|offsets| {
            let (monotonic, boottime) = (offsets.monotonic_s, offsets.boottime_s);
            format!("time: monotonic {monotonic:+} s, boot time {boottime:+} s")
        });
        known(f, "namespace", shifted)?;
        known(f, "sandbox", listed(&host.sandboxes))?;
        let utc = evidence.ntp.as_ref().map(|ntp| {
            let [likely, worst] = [ntp.estimated_error_ns, ntp.max_error_ns].map(as_f64).map(Ns);
            if ntp.is_synchronized {
                format!("synchronized to {likely}, at worst {worst}")
            } else {
                "not synchronized".to_owned()
            }
        });
        known(f, "UTC", utc)
    }

    fn measured(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let evidence = self.evidence;
        writeln!(f, "\n{}", heading("Measured"))?;
        let names = [
            ("Instant", "tach Instant", "std Instant"),
            ("Unix time", "tach UnixTime", "std SystemTime"),
        ];
        let cost = |name| evidence.costs.iter().find(|cost| cost.name == name);
        for (label, ours, theirs) in names {
            if let Some((ours, theirs)) = cost(ours).zip(cost(theirs)) {
                let ratio = theirs.ns / ours.ns;
                let std = faint(format!("(std {}: {ratio:.1} times as much)", Ns(theirs.ns)));
                row(f, label, format_args!("{} a read {std}", Ns(ours.ns)))?;
            }
        }
        let ordered = cost("tach MonotonicInstant");
        known(f, "in order", ordered.map(|cost| format!("{} a read", Ns(cost.ns))))?;
        let seconds = evidence.errors.seconds;
        let text = |found: Distances, clock: &str| {
            let [median, max, resolution] =
                [found.median_ns, found.max_ns, found.resolution_ns].map(Ns);
            let how = faint(format!("({seconds:.1} s, resolved to {resolution})"));
            format!("{median} in the median, at most {max} from the OS's {clock} clock {how}")
        };
        let errors = &evidence.errors;
        known(f, "elapsed", errors.monotonic.map(|found| text(found, "monotonic")))?;
        known(f, "Unix time", errors.realtime.map(|found| text(found, "real-time")))?;
        let skew = match evidence.skew.as_deref() {
            None => "not measured: threads can't be bound to cores here".to_owned(),
            Some([]) => "not measured: this process may use one core alone".to_owned(),
            Some(offsets) => {
                let worst = offsets.iter().max_by(|a, b| a.least_ns().total_cmp(&b.least_ns()));
                let worst = worst.expect("there is one");
                let [offset, bound] = [worst.ns, worst.bound_ns].map(Ns);
                let cores = offsets.len() + 1;
                format!("{offset} ± {bound} at worst, core {} of {cores}", worst.core)
            }
        };
        row(f, "skew", skew)
    }

    fn conclusions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.findings.is_empty() {
            writeln!(f, "\n{}", heading("Findings"))?;
        }
        for finding in &self.findings {
            let label = match finding.severity {
                Severity::Problem => bad("problem"),
                Severity::Advice => warning("advice"),
                Severity::Note => faint("note"),
            };
            writeln!(f, "  {label}: {}", wrapped(&finding.text, finding.severity))?;
            if let Some(remedy) = &finding.remedy {
                writeln!(f, "    {} {}", heading("→"), wrapped(remedy, Severity::Note))?;
            }
        }
        let verdict = match self.verdict {
            Verdict::Good => good("good. There is nothing to do."),
            Verdict::GoodWithAdvice => good("good. The advice would make it better."),
            Verdict::Bad => bad("bad. See the problems above."),
        };
        write!(f, "\n{} this host's clock is {verdict}", heading("Verdict:"))
    }
}

/// Wraps a text at 96 columns, after a label of this severity.
fn wrapped(text: &str, severity: Severity) -> String {
    const WIDTH: usize = 96;
    let label = match severity {
        Severity::Problem => "  problem: ".len(),
        Severity::Advice => "  advice: ".len(),
        Severity::Note => "  note: ".len(),
    };
    let (mut lines, mut column) = (String::new(), label);
    for word in text.split(' ') {
        let width = word.chars().count();
        if column + width > WIDTH {
            lines.push_str("\n      ");
            column = 6;
        } else if !lines.is_empty() {
            lines.push(' ');
        }
        lines.push_str(word);
        column += width + 1;
    }
    lines
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.clock(f)?;
        self.host(f)?;
        self.measured(f)?;
        self.conclusions(f)
    }
}
