//! Conclusions from the evidence, each with the change that would help.

use serde::Serialize;

use super::evidence::Evidence;
use super::host::Device;
use crate::output::Ns;

/// More than the skew of cores that the kernel itself tolerates in its clock.
const MUCH_SKEW_NS: f64 = 100.0;
/// More than any clock costs that is read without a system call.
const SLOW_NS: f64 = 150.0;
/// More than a timeline's error on a calm machine, interruptions included.
const MUCH_ERROR_NS: f64 = 1000.0;

const SWITCH: &str = "sudo sh -c 'echo tsc > \
                      /sys/devices/system/clocksource/clocksource0/current_clocksource'";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Severity {
    /// Worth knowing.
    Note,
    /// The clock is true, and could be better.
    Advice,
    /// The clock costs much more than it should, or can't be trusted.
    Problem,
}

/// A conclusion, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// A stable code, for machines.
    pub(crate) code: &'static str,
    pub(crate) text: String,
    /// The change that would help, if there is one.
    pub(crate) remedy: Option<String>,
}

/// Returns the conclusions, the worst first.
pub(crate) fn findings(evidence: &Evidence) -> Vec<Finding> {
    let mut all = Vec::new();
    source(evidence, &mut all);
    variables(evidence, &mut all);
    skew(evidence, &mut all);
    speed(evidence, &mut all);
    errors(evidence, &mut all);
    ntp(evidence, &mut all);
    machine(evidence, &mut all);
    all.sort_by_key(|finding| core::cmp::Reverse(finding.severity));
    all
}

fn finding(severity: Severity, code: &'static str, text: impl Into<String>) -> Finding {
    Finding { severity, code, text: text.into(), remedy: None }
}

impl Finding {
    fn with(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

use Severity::{Advice, Note, Problem};

fn source(evidence: &Evidence, all: &mut Vec<Finding>) {
    all.push(match evidence.reason {
        "kernel-uses-counter" | "kernel-clock-built-on-counter" => return,
        "kernel-verdict-unknown" => finding(
            Advice,
            "kernel-verdict-unknown",
            "The kernel's clocksource can't be read, so the counter is trusted on the CPU's word \
             alone, and MonotonicInstant keeps its order by a maximum that all threads share.",
        )
        .with("Make /sys readable to this process (read-only is enough)."),
        "kernel-avoids-counter" => avoided(evidence),
        "counter-not-invariant" => finding(
            Problem,
            "counter-not-invariant",
            "The CPU does not promise that its counter runs at one rate, so tach reads the OS \
             clock.",
        )
        .with(
            "In a virtual machine, let the hypervisor pass the flag on (QEMU: -cpu \
             host,migratable=no or +invtsc). On an old CPU nothing helps.",
        ),
        "counter-disabled" => finding(
            Problem,
            "counter-disabled",
            "This process is not allowed to read the counter, so tach reads the OS clock.",
        )
        .with("Look for the program that called prctl(PR_SET_TSC, PR_TSC_SIGSEGV): a sandbox?"),
        "no-counter" => {
            finding(Note, "no-counter", "tach reads no counter on this platform, but the OS clock.")
        }
        "environment" | "call" | "build" => forced(evidence),
        "counter-regressed" | "counter-stopped" | "kernel-left-counter" => finding(
            Problem,
            "counter-failed",
            format!("The counter failed while tach used it: {}.", evidence.reason_text),
        )
        .with("Look for \"clocksource\" and \"TSC\" in dmesg, and update firmware or hypervisor."),
        _ => finding(
            Problem,
            "os-clock-bad",
            format!("The OS clock is not monotonic: {}.", evidence.reason_text),
        )
        .with("Report this host to its maker. No program can measure time on it."),
    });
}

/// The kernel keeps its time without the counter.
fn avoided(evidence: &Evidence) -> Finding {
    let host = &evidence.host;
    let current = host.clocksource.as_deref().unwrap_or("another clock");
    let counter = evidence.counter.name.unwrap_or("no counter");
    if counter != "tsc" && (current == "tsc" || current == "kvm-clock") {
        return finding(
            Note,
            "emulated",
            format!(
                "The kernel uses {current}, which is no clock of this architecture: this program \
                 is emulated. tach reads the OS clock."
            ),
        );
    }
    if let Some(parameter) =
        host.kernel_parameters.iter().find(|one| is_against_counter(one, counter))
    {
        return finding(
            Problem,
            "kernel-avoids-counter",
            format!(
                "The kernel keeps its time with {current}, as its parameter {parameter} demands, \
                 so tach reads the OS clock."
            ),
        )
        .with(format!("Remove {parameter} from the kernel's command line, unless it is needed."));
    }
    let available = host.available_clocksources.as_deref().unwrap_or_default();
    if available.split(' ').any(|name| name == counter) {
        let remedy = if counter == "tsc" {
            format!(
                "If this machine's maker declares the TSC good (EC2 does for its Xen instances): \
                 {SWITCH}, and clocksource=tsc on the kernel's command line to keep it."
            )
        } else {
            format!("Ask why the kernel prefers {current} to {counter}.")
        };
        return finding(
            Problem,
            "kernel-avoids-counter",
            format!(
                "The kernel keeps its time with {current}, although {counter} is available, so \
                 tach reads the OS clock, which costs more."
            ),
        )
        .with(remedy);
    }
    finding(
        Problem,
        "counter-unstable",
        format!(
            "The kernel keeps its time with {current} and does not offer {counter}: it found the \
             counter unstable, or was configured so. tach reads the OS clock, which is true, and \
             slow where each read is a system call."
        ),
    )
    .with(
        "Look for \"Marking TSC unstable\" in dmesg. Update the firmware, or move the virtual \
         machine to another host. tsc=reliable on the kernel's command line only silences the \
         check.",
    )
}

fn is_against_counter(parameter: &str, counter: &str) -> bool {
    match parameter.split_once('=') {
        Some(("clocksource", name)) => name != counter,
        Some(("tsc", value)) => value == "unstable",
        _ => parameter == "notsc",
    }
}

fn forced(evidence: &Evidence) -> Finding {
    let of_source = if evidence.source == "os" { "the OS clock" } else { "the counter" };
    let text = format!("tach reads {of_source}, {}.", evidence.reason_text);
    let current = evidence.host.clocksource.as_deref();
    let is_avoided = |current: &str| !is_counters(current, evidence.counter.name);
    if evidence.source == "counter" && current.is_some_and(is_avoided) {
        return finding(Problem, "forced-counter", format!("{text} The kernel avoids it."))
            .with("Unset TACH_SOURCE.");
    }
    let remedy = match evidence.reason {
        "environment" => "Unset TACH_SOURCE to let tach choose.",
        "call" => "Remove the call of force_source to let tach choose.",
        _ => "Build without --cfg tach_source to let tach choose.",
    };
    finding(Note, "forced", text).with(remedy)
}

/// Returns whether a clocksource is the counter or built on it.
fn is_counters(clocksource: &str, counter: Option<&str>) -> bool {
    Some(clocksource) == counter
        || counter == Some("tsc")
            && ["kvm-clock", "hyperv_clocksource_tsc_page"].contains(&clocksource)
}

fn variables(evidence: &Evidence, all: &mut Vec<Finding>) {
    all.extend(evidence.ignored_variables.iter().map(|&message| {
        finding(Problem, "variable-ignored", "An environment variable has an unknown value.")
            .with(format!("{message}."))
    }));
}

fn skew(evidence: &Evidence, all: &mut Vec<Finding>) {
    let Some(offsets) = &evidence.skew else { return };
    let worst = offsets.iter().max_by(|a, b| a.least_ns().total_cmp(&b.least_ns()));
    if let Some(worst) = worst.filter(|worst| worst.least_ns() > MUCH_SKEW_NS) {
        let text = format!(
            "The clock of core {} is {} off that of the first core, known to {}: durations between \
             threads are off by as much.",
            worst.core,
            Ns(worst.ns),
            Ns(worst.bound_ns),
        );
        all.push(
            finding(Problem, "skew", text)
                .with("Set TACH_SOURCE=os, and report this machine to its maker."),
        );
    }
}

fn speed(evidence: &Evidence, all: &mut Vec<Finding>) {
    if cfg!(debug_assertions) {
        let text = "This is a debug build of tach: the costs of reads mean nothing.";
        all.push(finding(Note, "debug-build", text).with("cargo install tach-cli"));
    }
    let cost = |name| evidence.costs.iter().find(|cost| cost.name == name).map(|cost| cost.ns);
    if let Some(ns) = cost("std Instant").filter(|&ns| ns > SLOW_NS) {
        let text = format!(
            "The OS's own clock costs {}: probably each read is a system call, or emulated.",
            Ns(ns)
        );
        all.push(finding(Advice, "os-clock-slow", text).with(
            "Choose a clocksource that the vDSO reads (tsc, kvm-clock, arch_sys_counter), if the \
             host has one.",
        ));
    }
}

fn errors(evidence: &Evidence, all: &mut Vec<Finding>) {
    let errors = &evidence.errors;
    let timelines = [("monotonic", errors.monotonic), ("real-time", errors.realtime)];
    for (name, distances) in timelines {
        let Some(found) = distances.filter(|found| found.median_ns > MUCH_ERROR_NS) else {
            continue;
        };
        let text = format!(
            "tach's timeline was {} from the OS's {name} clock most of the time. The clock is \
             slewed, or this machine is emulated or overloaded.",
            Ns(found.median_ns)
        );
        all.push(
            finding(Advice, "timeline-error", text)
                .with("Run `tach watch` for some minutes: it shows steps and changes of rate."),
        );
    }
}

fn ntp(evidence: &Evidence, all: &mut Vec<Finding>) {
    all.push(match &evidence.ntp {
        None => finding(
            Note,
            "ntp-unknown",
            "This system does not state how far its clock is from UTC.",
        ),
        Some(ntp) if !ntp.is_synchronized => finding(
            Advice,
            "not-synchronized",
            "Nothing synchronises the OS clock with UTC, as far as the kernel knows. Durations are \
             as good as the oscillator, and Unix time of two hosts can't be compared.",
        )
        .with("Run chrony, or enable systemd-timesyncd: timedatectl set-ntp true."),
        Some(_) => return,
    });
}

fn machine(evidence: &Evidence, all: &mut Vec<Finding>) {
    let host = &evidence.host;
    let is_in = |name: &str| host.sandboxes.iter().any(|sandbox| sandbox == name);
    if let Some(offsets) = host.time_namespace {
        let text = format!(
            "This process is in a time namespace: its monotonic clock is {} s off the host's. \
             Instants can't be compared with those of processes outside.",
            offsets.monotonic_s
        );
        all.push(finding(Note, "time-namespace", text));
    }
    if is_in("gVisor") {
        let text = "gVisor emulates the kernel and calibrates its own clocks, which run fast or \
                    back at times (google/gvisor#8118).";
        all.push(finding(Advice, "gvisor", text).with("Compare times with the host's, not alone."));
    }
    if is_in("WSL") {
        let text = "Under WSL the clock may jump after the host has slept (microsoft/WSL#11790).";
        all.push(finding(Advice, "wsl", text).with("Update WSL: wsl --update."));
    }
    let Some(hypervisor) = &host.hypervisor else { return };
    let without = format!("This is a virtual machine ({hypervisor})");
    match host.vmclock {
        Device::Readable => {}
        Device::Unreadable => all.push(
            finding(
                Advice,
                "vmclock-unreadable",
                format!(
                    "{without}, and this process may not read /dev/vmclock0: it learns of a \
                     migration only by the step that follows."
                ),
            )
            .with("Let the user of the service read /dev/vmclock0, by a udev rule."),
        ),
        Device::Absent => all.push(finding(
            Note,
            "no-vmclock",
            format!(
                "{without} without a vmclock device: a migration or a restored snapshot is noticed \
                 by the step that follows, within 100 ms of use."
            ),
        )),
    }
}
