//! The report for people, and its verdict.

use serde::Serialize;

use super::errors::Distances;
use super::evidence::Evidence;
use super::files::Device;
use super::findings::{Finding, Severity, findings};
use crate::Outcome;
use crate::measure::as_f64;
use crate::output::{Ns, Width, bad, faint, good, hanging, heading, paragraph, warning};
use crate::skew::Offset;

#[derive(Debug, Serialize)]
pub(crate) struct Report<'a> {
    verdict: Verdict,
    findings: Vec<Finding>,
    /// What is known to no microsecond.
    not_measured: Vec<&'static str>,
    #[serde(flatten)]
    evidence: &'a Evidence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Good,
    GoodWithAdvice,
    /// Nothing bad was found, and something could not be measured.
    Incomplete,
    Bad,
}

impl<'a> Report<'a> {
    pub(crate) fn new(evidence: &'a Evidence) -> Self {
        let findings = findings(evidence);
        let not_measured: Vec<_> =
            evidence.not_measured().into_iter().map(|one| one.code).collect();
        let verdict = match findings.first().map(|worst| worst.severity) {
            Some(Severity::Problem) => Verdict::Bad,
            _ if !not_measured.is_empty() => Verdict::Incomplete,
            Some(Severity::Advice) => Verdict::GoodWithAdvice,
            None | Some(Severity::Note) => Verdict::Good,
        };
        Self { verdict, findings, not_measured, evidence }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        if self.verdict == Verdict::Bad { Outcome::Problem } else { Outcome::Good }
    }
}

/// The lines of a report.
#[derive(Debug)]
struct Page {
    lines: Vec<String>,
    width: Width,
}

impl Page {
    /// Begins a part of the report.
    fn part(&mut self, title: &str) {
        if !self.lines.is_empty() {
            self.lines.push(String::new());
        }
        self.lines.push(heading(title).to_string());
    }

    /// Adds a name and its value.
    fn row(&mut self, name: &str, value: &str) {
        self.lines.push(hanging(&format!("  {name:<12} "), value, 15, self.width));
    }

    /// Like [`row`](Self::row), if there is a value.
    fn known(&mut self, name: &str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.row(name, value.as_ref());
        }
    }
}

fn listed(values: &[String]) -> Option<String> {
    (!values.is_empty()).then(|| values.join(" "))
}

impl Report<'_> {
    /// Returns the whole report.
    pub(crate) fn text(&self, width: Width) -> String {
        let mut page = Page { lines: Vec::new(), width };
        self.clock(&mut page);
        self.host(&mut page);
        self.utc(&mut page);
        self.measured(&mut page);
        self.conclusions(&mut page);
        page.lines.join("\n")
    }

    /// Returns the problems alone.
    pub(crate) fn problems(&self, width: Width) -> String {
        let mut page = Page { lines: Vec::new(), width };
        let problems = self.findings.iter().filter(|one| one.severity == Severity::Problem);
        problems.for_each(|problem| problem.add_to(&mut page));
        page.lines.join("\n")
    }

    fn clock(&self, page: &mut Page) {
        let evidence = self.evidence;
        page.part("Clock");
        let source = if evidence.source == "os" { "OS clock" } else { "CPU counter" };
        page.row("source", &format!("{source}: {}", evidence.reason_text));
        page.row(
            "order",
            match evidence.order {
                "ordered-read" => "by an ordered read: threads share nothing",
                "enforced" => "by a maximum that all threads share",
                _ => "by the OS clock",
            },
        );
        let counter = &evidence.counter;
        let kind = if counter.is_invariant { "invariant" } else { "not invariant" };
        page.known("counter", counter.name.map(|name| format!("{name}, {kind}")));
        let hz = |hz: u64| format!("{:.6} MHz", as_f64(hz) / 1e6);
        let declared = match counter.declared_hz {
            Some(declared) => format!("{} declared", hz(declared)),
            None => "none declared by the CPU".to_owned(),
        };
        let measured = evidence.measured_hz.map(|measured| format!("{} measured", hz(measured)));
        page.known("frequency", measured.map(|measured| format!("{measured}, {declared}")));
    }

    fn host(&self, page: &mut Page) {
        let (evidence, host) = (self.evidence, &self.evidence.host);
        page.part("Host");
        let kernel = host.kernel.as_ref().map(|kernel| format!("{}, {kernel}", evidence.platform));
        page.row("system", kernel.as_ref().unwrap_or(&evidence.platform));
        page.known("CPU", host.cpu.as_ref());
        page.known("CPU flags", listed(&host.tsc_flags));
        let available = host.available_clocksources.as_deref().unwrap_or("unknown");
        let clocksource = host.clocksource.as_ref();
        page.known("clocksource", clocksource.map(|name| format!("{name} (of {available})")));
        page.known("parameters", listed(&host.kernel_parameters));
        page.known("hypervisor", host.hypervisor.as_ref());
        page.known("machine", host.machine.as_ref());
        let vmclock = match host.vmclock {
            Device::Absent => None,
            Device::NoDriver => Some("announced by the hypervisor, without a driver"),
            Device::Unreadable => Some("/dev/vmclock0, not readable"),
            Device::Readable => Some("/dev/vmclock0"),
        };
        page.known("vmclock", vmclock);
        page.known("PTP clocks", (!host.ptp_clocks.is_empty()).then(|| host.ptp_clocks.join(", ")));
        let shifted = host.time_namespace.map(|offsets| {
            let (monotonic, boottime) = (offsets.monotonic_s, offsets.boottime_s);
            format!("time: monotonic {monotonic:+} s, boot time {boottime:+} s")
        });
        page.known("namespace", shifted);
        page.known("sandbox", listed(&host.sandboxes));
        page.known("libraries", listed(&host.clock_libraries));
    }

    fn utc(&self, page: &mut Page) {
        let ntp = &self.evidence.ntp;
        page.part("UTC");
        page.row(
            "kernel",
            &ntp.as_ref().map_or("states nothing".to_owned(), |ntp| {
                let [likely, worst] =
                    [ntp.estimated_error_ns, ntp.max_error_ns].map(as_f64).map(Ns);
                if ntp.is_synchronized {
                    format!("synchronized to {likely}, at worst {worst}")
                } else {
                    "not synchronized".to_owned()
                }
            }),
        );
    }

    fn measured(&self, page: &mut Page) {
        let evidence = self.evidence;
        page.part("Measured");
        let names = [
            ("Instant", "tach Instant", "std Instant"),
            ("Unix time", "tach UnixTime", "std SystemTime"),
        ];
        for (label, ours, theirs) in names {
            if let Some((ours, theirs)) = evidence.cost_ns(ours).zip(evidence.cost_ns(theirs)) {
                let ratio = theirs / ours;
                let std = faint(format!("(std {}: {ratio:.1} times as much)", Ns(theirs)));
                page.row(label, &format!("{} a read {std}", Ns(ours)));
            }
        }
        let ordered = evidence.cost_ns("tach MonotonicInstant");
        page.known("in order", ordered.map(|ns| format!("{} a read", Ns(ns))));
        let seconds = evidence.errors.seconds;
        let text = |found: Distances, clock: &str| {
            if !found.is_known() {
                return self.not_known(format_args!("to {} at best", Ns(found.resolution_ns)));
            }
            let [median, max, resolution] =
                [found.median_ns, found.max_ns, found.resolution_ns].map(Ns);
            let how = faint(format!("({seconds:.1} s, resolved to {resolution})"));
            format!("{median} in the median, at most {max} from the OS's {clock} clock {how}")
        };
        let errors = &evidence.errors;
        page.known("elapsed", errors.monotonic.map(|found| text(found, "monotonic")));
        page.known("Unix time", errors.realtime.map(|found| text(found, "real-time")));
        page.row("skew", &self.skew());
    }

    fn skew(&self) -> String {
        let offsets = match self.evidence.skew.as_deref() {
            None => return "not measured: threads can't be bound to cores here".to_owned(),
            Some([]) => return "not measured: this process may use one core alone".to_owned(),
            Some(offsets) => offsets,
        };
        let cores = offsets.len() + 1;
        let (known, unknown): (Vec<_>, Vec<_>) = offsets.iter().partition(|core| core.is_known());
        let least = |core: &&&Offset| core.least_ns();
        let worst = known.iter().max_by(|a, b| least(a).total_cmp(&least(b)));
        let worst = worst.map(|worst| {
            let [offset, bound] = [worst.ns, worst.bound_ns].map(Ns);
            format!("{offset} ± {bound} at worst, core {} of {cores}", worst.core)
        });
        let widest = unknown.iter().max_by(|a, b| a.bound_ns.total_cmp(&b.bound_ns));
        let unknown = widest.map(|widest| {
            let count = unknown.len();
            if widest.bound_ns.is_finite() {
                let how = self.not_known(format_args!("± {}", Ns(widest.bound_ns)));
                format!("{count} of {cores} cores {how}")
            } else {
                format!("{count} of {cores} cores {}", self.not_known(format_args!("no answer")))
            }
        });
        [worst, unknown].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Returns why something was not measured, and how far it is known.
    fn not_known(&self, how_far: core::fmt::Arguments<'_>) -> String {
        let why = self.evidence.why_not_measured();
        format!("{}: {why} {}", warning("not measured"), faint(format_args!("({how_far})")))
    }

    fn conclusions(&self, page: &mut Page) {
        if !self.findings.is_empty() {
            page.part("Findings");
        }
        self.findings.iter().for_each(|finding| finding.add_to(page));
        let verdict = match self.verdict {
            Verdict::Good => good("good. There is nothing to do.").to_string(),
            Verdict::GoodWithAdvice => good("good. The advice would make it better.").to_string(),
            Verdict::Incomplete => warning(
                "not known to be good. Nothing bad was found, and \
                                            something could not be measured.",
            )
            .to_string(),
            Verdict::Bad => bad("bad. See the problems above.").to_string(),
        };
        let text = format!("{} this host's clock is {verdict}", heading("Verdict:"));
        page.lines.push(format!("\n{}", paragraph(&text, page.width)));
    }
}

impl Finding {
    fn add_to(&self, page: &mut Page) {
        let label = match self.severity {
            Severity::Problem => bad("problem").to_string(),
            Severity::Advice => warning("advice").to_string(),
            Severity::Note => faint("note").to_string(),
        };
        page.lines.push(hanging(&format!("  {label}: "), &self.text, 6, page.width));
        if let Some(remedy) = &self.remedy {
            page.lines.push(hanging(&format!("    {} ", heading("→")), remedy, 6, page.width));
        }
    }
}
