//! The report for people, and its verdict.

use serde::Serialize;

use super::evidence::Evidence;
use super::files::Device;
use super::findings::{Finding, Severity, findings};
use super::skew::Offset;
use crate::Outcome;
use crate::drift::Summary;
use crate::measure::as_f64;
use crate::output::{Ns, bad, faint, good, hanging, heading, warning};

#[derive(Debug, Serialize)]
pub(super) struct Report {
    verdict: Verdict,
    findings: Vec<Finding>,
    /// The names of all measurements whose bound exceeds a microsecond.
    not_measured: Vec<String>,
    #[serde(flatten)]
    evidence: Evidence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Good,
    GoodWithAdvice,
    /// Nothing bad was found, and nothing keeps the clock at UTC.
    GoodForDurations,
    /// Nothing bad was found, and something could not be measured.
    Incomplete,
    Bad,
}

impl Report {
    /// Draws the conclusions. `needs_utc` is whether times are compared with those of other hosts.
    pub(super) fn new(evidence: Evidence, needs_utc: bool) -> Self {
        let (findings, not_measured) = (findings(&evidence, needs_utc), evidence.not_measured());
        let verdict = match findings.first().map(|worst| worst.severity) {
            Some(Severity::Problem) => Verdict::Bad,
            _ if !not_measured.is_empty() => Verdict::Incomplete,
            _ if findings.iter().any(Finding::is_of_utc) => Verdict::GoodForDurations,
            Some(Severity::Advice) => Verdict::GoodWithAdvice,
            None | Some(Severity::Note) => Verdict::Good,
        };
        Self { verdict, findings, not_measured, evidence }
    }

    pub(super) fn outcome(&self) -> Outcome {
        if self.verdict == Verdict::Bad { Outcome::Problem } else { Outcome::Good }
    }
}

/// The lines of a report, and the columns that each may take.
#[derive(Debug)]
struct Page(Vec<String>, usize);

impl Page {
    /// Begins a part of the report.
    fn part(&mut self, title: &str) {
        if !self.0.is_empty() {
            self.0.push(String::new());
        }
        self.0.push(heading(title).to_string());
    }

    /// Adds a text that begins with `start`. Its later lines begin after `indent` blanks.
    fn text(&mut self, start: &str, text: &str, indent: usize) {
        self.0.push(hanging(start, text, indent, self.1));
    }

    /// Adds a name and its value, if there is one.
    fn row(&mut self, name: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value.map(Into::into).filter(|value| !value.is_empty()) {
            self.text(&format!("  {name:<12} "), &value, 15);
        }
    }
}

impl Report {
    pub(super) fn text(&self, width: usize) -> String {
        let mut page = Page(Vec::new(), width);
        self.clock(&mut page);
        self.host(&mut page);
        self.measured(&mut page);
        self.conclusions(&mut page);
        page.0.join("\n")
    }

    /// Returns only the problems.
    pub(super) fn problems(&self, width: usize) -> String {
        let mut page = Page(Vec::new(), width);
        let problems = self.findings.iter().filter(|one| one.severity == Severity::Problem);
        problems.for_each(|problem| problem.add_to(&mut page));
        page.0.join("\n")
    }

    fn clock(&self, page: &mut Page) {
        let evidence = &self.evidence;
        page.part("Clock");
        let source = if evidence.source == "os" { "OS clock" } else { "CPU counter" };
        page.row("source", Some(format!("{source}: {}", evidence.reason_text)));
        let order = match evidence.order {
            "ordered-read" => "by an ordered read: threads share nothing",
            "enforced" => "by a maximum that all threads share",
            _ => "by the OS clock",
        };
        page.row("order", Some(order));
        let counter = &evidence.counter;
        let kind = if counter.is_invariant { "invariant" } else { "not invariant" };
        page.row("counter", counter.name.map(|name| format!("{name}, {kind}")));
        let hz = |hz: u64| format!("{:.6} MHz", as_f64(hz) / 1e6);
        let declared = match counter.declared_hz {
            Some(declared) => format!("{} declared", hz(declared)),
            None => "none declared by the CPU".to_owned(),
        };
        let measured = evidence.measured_hz.map(hz);
        page.row("frequency", measured.map(|measured| format!("{measured} measured, {declared}")));
    }

    fn host(&self, page: &mut Page) {
        let (evidence, host) = (&self.evidence, &self.evidence.host);
        page.part("Host");
        let kernel = host.kernel.as_ref().map(|kernel| format!(", {kernel}"));
        page.row("system", Some(evidence.platform.clone() + &kernel.unwrap_or_default()));
        page.row("CPU", host.cpu.as_deref());
        page.row("CPU flags", Some(host.tsc_flags.join(" ")));
        let available = host.available_clocksources.as_deref().unwrap_or("unknown");
        let clocksource = host.clocksource.as_ref();
        page.row("clocksource", clocksource.map(|name| format!("{name} (of {available})")));
        page.row("parameters", Some(host.kernel_parameters.join(" ")));
        page.row("hypervisor", host.hypervisor.as_deref());
        page.row("machine", host.machine.as_deref());
        let vmclock = match host.vmclock {
            Device::Absent => "",
            Device::NoDriver => "announced by the hypervisor, without a driver",
            Device::Unreadable => "/dev/vmclock0, not readable",
            Device::Readable => "/dev/vmclock0",
        };
        page.row("vmclock", Some(vmclock));
        page.row("sandbox", Some(host.sandboxes.join(", ")));
        let utc = evidence.ntp.as_ref().map(|ntp| {
            let [likely, worst] = [ntp.estimated_error_ns, ntp.max_error_ns].map(as_f64).map(Ns);
            if ntp.is_synchronized {
                format!("synchronized to {likely}, at worst {worst}, says the kernel")
            } else {
                "not synchronized, says the kernel".to_owned()
            }
        });
        page.row("UTC", utc);
    }

    fn measured(&self, page: &mut Page) {
        let evidence = &self.evidence;
        page.part("Measured");
        let names = [
            ("Instant", "tach Instant", "std Instant"),
            ("Unix time", "tach UnixTime", "std SystemTime"),
        ];
        for (label, ours, theirs) in names {
            let costs = evidence.cost_ns(ours).zip(evidence.cost_ns(theirs));
            let text = costs.map(|(ours, theirs)| {
                let std = faint(format!("(std {}: {})", Ns(theirs), compared(ours, theirs)));
                format!("{} a read {std}", Ns(ours))
            });
            page.row(label, text);
        }
        let ordered = evidence.cost_ns("tach MonotonicInstant");
        page.row("in order", ordered.map(|ns| format!("{} a read", Ns(ns))));
        for (label, found) in ["elapsed", "Unix time"].iter().zip(&evidence.errors) {
            page.row(label, Some(self.error(found)));
        }
        page.row("skew", Some(self.skew()));
    }

    fn error(&self, found: &Summary) -> String {
        let [median, max, resolution] =
            [found.median_ns, found.max_ns, found.resolution_ns].map(Ns);
        if !found.is_known() {
            return self.not_known(format_args!("to {resolution} at best"));
        }
        let how = faint(format!("({:.1} s, ± {resolution})", found.seconds));
        format!("{median} in the median, at most {max} from the OS's clock {how}")
    }

    fn skew(&self) -> String {
        let offsets = match self.evidence.skew.as_deref() {
            None => return "not measured: threads can't be bound to cores here".to_owned(),
            Some([]) => return "not measured: this process may use one core alone".to_owned(),
            Some(offsets) => offsets,
        };
        let cores = offsets.len() + 1;
        let (known, unknown): (Vec<_>, Vec<_>) = offsets.iter().partition(|core| core.is_known());
        let worst = Offset::worst(known).map(|worst| {
            let [offset, bound] = [worst.ns, worst.bound_ns].map(Ns);
            format!("{offset} ± {bound} at worst, core {} of {cores}", worst.core)
        });
        let unknown =
            unknown.iter().max_by(|a, b| a.bound_ns.total_cmp(&b.bound_ns)).map(|widest| {
                let how = self.not_known(format_args!("± {} at worst", Ns(widest.bound_ns)));
                format!("{} of {cores} cores {how}", unknown.len())
            });
        [worst, unknown].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Returns why something was not measured, and the bound within which it is known.
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
            Verdict::Good => good("good. There is nothing to do."),
            Verdict::GoodWithAdvice => good("good. The advice would make it better."),
            Verdict::GoodForDurations => {
                good("good for durations. How far it is from UTC is not known.")
            }
            Verdict::Incomplete => warning(
                "not known to be good. Nothing bad was found, and something could not be measured.",
            ),
            Verdict::Bad => bad("bad. See the problems above."),
        };
        let text = format!("{} this host's clock is {verdict}", heading("Verdict:"));
        page.text("\n", &text, 0);
    }
}

/// Says who is slower, and by how much.
fn compared(ours: f64, theirs: f64) -> String {
    let ratio = if theirs < ours { ours / theirs } else { theirs / ours };
    match ratio {
        ..1.05 => "as fast".to_owned(),
        _ if theirs < ours => format!("tach is {ratio:.1} times slower"),
        _ => format!("std is {ratio:.1} times slower"),
    }
}

impl Finding {
    fn add_to(&self, page: &mut Page) {
        let label = match self.severity {
            Severity::Problem => bad("problem"),
            Severity::Advice => warning("advice"),
            Severity::Note => faint("note"),
        };
        page.text(&format!("  {label}: "), &self.text, 6);
        if let Some(remedy) = &self.remedy {
            page.text(&format!("    {} ", heading("→")), remedy, 6);
        }
    }
}
