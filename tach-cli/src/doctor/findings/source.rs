//! The source of the ticks, and the reason for it.

use super::Severity::{Advice, Note, Problem};
use super::{Finding, finding};
use crate::doctor::evidence::Evidence;

const SWITCH: &str = "sudo sh -c 'echo tsc > \
                      /sys/devices/system/clocksource/clocksource0/current_clocksource'";

pub(super) fn add(evidence: &Evidence, all: &mut Vec<Finding>) {
    source(evidence, all);
    variables(evidence, all);
}

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
        "counter-near-end" => finding(
            Note,
            "counter-near-end",
            "The counter is near its greatest value, so tach reads the OS clock.",
        ),
        "os-clock-slowed" => finding(
            Problem,
            "os-clock-slowed",
            "Reading the OS clock became as slow as a system call while tach ran: the kernel has \
             probably left the counter. tach reads the OS clock since then.",
        )
        .with("Look for \"clocksource\" and \"TSC\" in dmesg."),
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

/// Returns whether the kernel is another architecture's, so that this program is emulated.
pub(super) fn is_emulated(evidence: &Evidence) -> bool {
    let clocksource = evidence.host.clocksource.as_deref();
    let is_x86 = clocksource.is_some_and(|name| is_counters(name, Some("tsc")));
    is_x86 && evidence.counter.name != Some("tsc")
}

/// The kernel keeps its time without the counter.
fn avoided(evidence: &Evidence) -> Finding {
    let host = &evidence.host;
    let Some(current) = host.clocksource.as_deref() else { return avoided_elsewhere(evidence) };
    let counter = evidence.counter.name.unwrap_or("no counter");
    if is_emulated(evidence) {
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

/// A system other than Linux keeps its time without the counter.
fn avoided_elsewhere(evidence: &Evidence) -> Finding {
    let text = "The system keeps its time without the CPU's counter, so tach reads the OS clock, \
                which is true and costs more.";
    let remedy = if evidence.platform.starts_with("windows") {
        "On Windows, remove a forced platform clock (bcdedit /deletevalue useplatformclock) and \
         restart. Under Wine, nothing helps."
    } else if evidence.platform.starts_with("freebsd") {
        "If dmesg does not call the TSC unstable: sysctl kern.timecounter.hardware=TSC."
    } else {
        "Ask the system's maker why."
    };
    finding(Problem, "system-avoids-counter", text).with(remedy)
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
        "call" => "Remove force_source from the Config to let tach choose.",
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
        let text = "An environment variable of tach's is ignored, since its value is unknown.";
        finding(Advice, "variable-ignored", text).with(format!("{message}."))
    }));
}
