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

/// Returns whether the kernel is another architecture's, so that this program is emulated.
fn is_emulated(evidence: &Evidence) -> bool {
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
    if is_emulated(evidence) {
        return;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::errors::{Distances, Errors};
    use crate::doctor::evidence::{Counter, Ntp};
    use crate::doctor::host::{Host, Offsets};
    use crate::measure::Cost;
    use crate::skew::Offset;

    /// A host without findings, but for the debug build.
    fn calm() -> Evidence {
        let distances =
            Distances { comparisons: 9, median_ns: 5.0, max_ns: 50.0, resolution_ns: 10.0 };
        let host = Host {
            clocksource: Some("tsc".to_owned()),
            available_clocksources: Some("tsc hpet".to_owned()),
            ..Host::default()
        };
        Evidence {
            tach: "0",
            platform: "linux x86_64".to_owned(),
            source: "counter",
            reason: "kernel-uses-counter",
            reason_text: "because".to_owned(),
            order: "ordered-read",
            ignored_variables: Vec::new(),
            counter: Counter { name: Some("tsc"), is_invariant: true, declared_hz: None },
            measured_hz: None,
            counter_failures: 0,
            suspends: 0,
            restores: 0,
            host,
            ntp: Some(Ntp { is_synchronized: true, estimated_error_ns: 1, max_error_ns: 2 }),
            skew: Some(vec![Offset { core: 1, ns: 30.0, bound_ns: 60.0 }]),
            costs: vec![Cost { name: "std Instant", ns: 25.0 }],
            errors: Errors { seconds: 3.0, monotonic: Some(distances), realtime: Some(distances) },
        }
    }

    /// Returns the severities and codes of a host that differs from the calm one by `change`.
    fn found(change: impl FnOnce(&mut Evidence)) -> Vec<(Severity, &'static str)> {
        let mut evidence = calm();
        change(&mut evidence);
        let all = findings(&evidence);
        assert!(all.is_sorted_by_key(|finding| core::cmp::Reverse(finding.severity)));
        let all = all.iter().filter(|finding| finding.code != "debug-build");
        all.map(|finding| (finding.severity, finding.code)).collect()
    }

    fn by_os(evidence: &mut Evidence, reason: &'static str) {
        (evidence.source, evidence.reason) = ("os", reason);
    }

    #[test]
    fn a_calm_host_has_no_findings() {
        assert_eq!(found(|_| ()), []);
    }

    #[test]
    fn each_reason_has_its_finding() {
        let cases = [
            ("kernel-clock-built-on-counter", None),
            ("kernel-verdict-unknown", Some((Advice, "kernel-verdict-unknown"))),
            ("counter-not-invariant", Some((Problem, "counter-not-invariant"))),
            ("counter-disabled", Some((Problem, "counter-disabled"))),
            ("no-counter", Some((Note, "no-counter"))),
            ("call", Some((Note, "forced"))),
            ("counter-stopped", Some((Problem, "counter-failed"))),
            ("os-clock-regressed", Some((Problem, "os-clock-bad"))),
        ];
        for (reason, expected) in cases {
            assert_eq!(found(|host| by_os(host, reason)), Vec::from_iter(expected), "{reason}");
        }
    }

    #[test]
    fn a_kernel_that_avoids_the_counter_has_one_of_several_reasons() {
        let avoided = |change: fn(&mut Evidence)| {
            found(|evidence| {
                by_os(evidence, "kernel-avoids-counter");
                evidence.host.clocksource = Some("hpet".to_owned());
                change(evidence);
            })
        };
        assert_eq!(avoided(|_| ()), [(Problem, "kernel-avoids-counter")]);
        let unstable = avoided(|evidence| {
            evidence.host.available_clocksources = Some("hpet acpi_pm".to_owned());
        });
        assert_eq!(unstable, [(Problem, "counter-unstable")]);
        let elsewhere = avoided(|evidence| evidence.host.clocksource = None);
        assert_eq!(elsewhere, [(Problem, "system-avoids-counter")]);
        // On an emulated CPU slow clocks need no remedy.
        let emulated = avoided(|evidence| {
            evidence.counter.name = Some("arch_sys_counter");
            evidence.host.clocksource = Some("tsc".to_owned());
            evidence.costs[0].ns = 900.0;
        });
        assert_eq!(emulated, [(Note, "emulated")]);
    }

    #[test]
    fn a_forced_counter_is_a_problem_if_the_kernel_avoids_it() {
        let forced = |clocksource: &str| {
            found(|evidence| {
                evidence.reason = "environment";
                evidence.host.clocksource = Some(clocksource.to_owned());
            })
        };
        assert_eq!(forced("tsc"), [(Note, "forced")]);
        assert_eq!(forced("kvm-clock"), [(Note, "forced")]);
        assert_eq!(forced("hpet"), [(Problem, "forced-counter")]);
    }

    #[test]
    fn skew_is_a_problem_if_its_bound_excludes_none() {
        let skewed = |ns, bound_ns| {
            found(|evidence| evidence.skew = Some(vec![Offset { core: 3, ns, bound_ns }]))
        };
        assert_eq!(skewed(-5_000.0, 80.0), [(Problem, "skew")]);
        assert_eq!(skewed(5_000.0, 4_950.0), []);
        assert_eq!(found(|evidence| evidence.skew = None), []);
    }

    #[test]
    fn measured_costs_and_errors_are_advice() {
        assert_eq!(found(|evidence| evidence.costs[0].ns = 151.0), [(Advice, "os-clock-slow")]);
        let erring = found(|evidence| {
            let far =
                Distances { comparisons: 1, median_ns: 1001.0, max_ns: 2000.0, resolution_ns: 1.0 };
            evidence.errors.realtime = Some(far);
        });
        assert_eq!(erring, [(Advice, "timeline-error")]);
    }

    #[test]
    fn the_machine_around_has_findings() {
        let in_machine = |change: fn(&mut Host)| found(|evidence| change(&mut evidence.host));
        let virtual_machine = |host: &mut Host| host.hypervisor = Some("KVM".to_owned());
        assert_eq!(in_machine(virtual_machine), [(Note, "no-vmclock")]);
        let unreadable = in_machine(|host| {
            host.hypervisor = Some("KVM".to_owned());
            host.vmclock = Device::Unreadable;
        });
        assert_eq!(unreadable, [(Advice, "vmclock-unreadable")]);
        let shifted = in_machine(|host| {
            host.time_namespace = Some(Offsets { monotonic_s: 5, boottime_s: 0 });
        });
        assert_eq!(shifted, [(Note, "time-namespace")]);
        assert_eq!(in_machine(|host| host.sandboxes.push("WSL".to_owned())), [(Advice, "wsl")]);
        let unsynchronized =
            found(|evidence| evidence.ntp.as_mut().unwrap().is_synchronized = false);
        assert_eq!(unsynchronized, [(Advice, "not-synchronized")]);
        assert_eq!(found(|evidence| evidence.ntp = None), [(Note, "ntp-unknown")]);
    }
}
