//! The source of the ticks, and the reason for it.

use super::Severity::{Advice, Note, Problem};
use super::{Finding, finding};
use crate::doctor::evidence::Evidence;

pub(super) fn add(evidence: &Evidence, all: &mut Vec<Finding>) {
    all.extend(source(evidence));
    all.extend(evidence.ignored_variables.iter().map(|message| {
        let text = "An environment variable of tach's is ignored, since its value is unknown.";
        finding(Advice, "variable-ignored", text).with(format!("{message}."))
    }));
}

fn source(evidence: &Evidence) -> Option<Finding> {
    let reason = &evidence.reason_text;
    let by_os = format!("tach reads the OS clock: {reason}.");
    let (severity, code, text, remedy) = match evidence.reason {
        "kernel-uses-counter" | "kernel-clock-built-on-counter" => return None,
        "kernel-avoids-counter" => return Some(avoided(evidence)),
        "environment" | "call" | "build" => return Some(forced(evidence)),
        "kernel-verdict-unknown" => (
            Advice,
            "kernel-verdict-unknown",
            "The kernel's clocksource can't be read, so the counter is trusted on the CPU's word \
             alone, and MonotonicInstant keeps its order by a maximum that all threads share."
                .to_owned(),
            "Make /sys readable to this process (read-only is enough).",
        ),
        "counter-not-invariant" => (
            Problem,
            "counter-not-invariant",
            by_os,
            "In a virtual machine, let the hypervisor pass the flag on (QEMU: -cpu \
             host,migratable=no or +invtsc). On an old CPU nothing helps.",
        ),
        "counter-disabled" => (
            Problem,
            "counter-disabled",
            by_os,
            "Look for the program that called prctl(PR_SET_TSC, PR_TSC_SIGSEGV): a sandbox?",
        ),
        "no-counter" => (Note, "no-counter", by_os, ""),
        "counter-near-end" => (Note, "counter-near-end", by_os, ""),
        "os-clock-slowed" => (
            Problem,
            "os-clock-slowed",
            "Reading the OS clock became as slow as a system call while tach ran: the kernel has \
             probably left the counter. tach reads the OS clock since then."
                .to_owned(),
            "Look for \"clocksource\" and \"TSC\" in dmesg.",
        ),
        "counter-regressed" | "counter-stopped" | "kernel-left-counter" => (
            Problem,
            "counter-failed",
            format!("The counter failed while tach used it: {reason}."),
            "Look for \"clocksource\" and \"TSC\" in dmesg, and update firmware or hypervisor.",
        ),
        _ => (
            Problem,
            "os-clock-bad",
            format!("The OS clock is not monotonic: {reason}."),
            "Report this host to its maker. No program can measure time on it.",
        ),
    };
    let found = finding(severity, code, text);
    Some(if remedy.is_empty() { found } else { found.with(remedy) })
}

/// Returns whether the kernel is another architecture's, so that this program is emulated.
pub(super) fn is_emulated(evidence: &Evidence) -> bool {
    let clocksource = evidence.host.clocksource.as_deref();
    let is_x86 = clocksource.is_some_and(|name| is_counters(name, Some("tsc")));
    is_x86 && evidence.counter.name != Some("tsc")
}

/// Returns the finding for a kernel that keeps its time without the counter.
fn avoided(evidence: &Evidence) -> Finding {
    let host = &evidence.host;
    let Some(current) = host.clocksource.as_deref() else {
        let text = "The system keeps its time without the CPU's counter, so tach reads the OS \
                    clock, which is true and costs more.";
        return finding(Problem, "system-avoids-counter", text).with(
            "On Windows, remove a forced platform clock (bcdedit /deletevalue useplatformclock) \
             and restart. On FreeBSD, if dmesg does not call the TSC unstable: sysctl \
             kern.timecounter.hardware=TSC.",
        );
    };
    let counter = evidence.counter.name.unwrap_or("no counter");
    let available = host.available_clocksources.as_deref().unwrap_or_default();
    let mut parameters = host.kernel_parameters.iter();
    let text = format!("The kernel keeps its time with {current}, so tach reads the OS clock");
    if is_emulated(evidence) {
        let text =
            format!("{text}. That is no clock of this architecture: this program is emulated.");
        finding(Note, "emulated", text)
    } else if let Some(parameter) = parameters.find(|one| is_against_counter(one, counter)) {
        let text = format!("{text}. The kernel's parameter {parameter} demands that.");
        let remedy = format!("Remove {parameter} from the kernel's command line, unless needed.");
        finding(Problem, "kernel-avoids-counter", text).with(remedy)
    } else if available.split(' ').any(|name| name == counter) {
        let text = format!("{text}, which costs more. {counter} is available.");
        let remedy = if counter == "tsc" {
            "If this machine's maker declares the TSC good (EC2 does for its Xen instances): sudo \
             sh -c 'echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource', \
             and clocksource=tsc on the kernel's command line to keep it."
        } else {
            "Look in dmesg why the kernel prefers the other."
        };
        finding(Problem, "kernel-avoids-counter", text).with(remedy)
    } else {
        let text = format!(
            "{text}, which is true, and slow where each read is a system call. The kernel does not \
             offer {counter}: it found the counter unstable, or was configured so."
        );
        finding(Problem, "counter-unstable", text).with(
            "Look for \"Marking TSC unstable\" in dmesg. Update the firmware, or move the virtual \
             machine to another host. tsc=reliable on the kernel's command line only silences the \
             check.",
        )
    }
}

fn is_against_counter(parameter: &str, counter: &str) -> bool {
    match parameter.split_once('=') {
        Some(("clocksource", name)) => name != counter,
        Some(("tsc", value)) => value == "unstable",
        _ => parameter == "notsc",
    }
}

fn forced(evidence: &Evidence) -> Finding {
    let source = if evidence.source == "os" { "the OS clock" } else { "the counter" };
    let text = format!("tach reads {source}, {}.", evidence.reason_text);
    let current = evidence.host.clocksource.as_deref();
    let is_avoided = current.is_some_and(|name| !is_counters(name, evidence.counter.name));
    let remedy = match evidence.reason {
        "environment" => "Unset TACH_SOURCE to let tach choose.",
        "call" => "Remove force_source from the Config to let tach choose.",
        _ => "Build without --cfg tach_source to let tach choose.",
    };
    if evidence.source == "counter" && is_avoided {
        let text = format!("{text} The kernel avoids it.");
        return finding(Problem, "forced-counter", text).with(remedy);
    }
    finding(Note, "forced", text).with(remedy)
}

/// Returns whether a clocksource is the counter or built on it.
fn is_counters(clocksource: &str, counter: Option<&str>) -> bool {
    Some(clocksource) == counter
        || counter == Some("tsc")
            && ["kvm-clock", "hyperv_clocksource_tsc_page"].contains(&clocksource)
}
