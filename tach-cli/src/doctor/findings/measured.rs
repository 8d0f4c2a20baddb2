//! What was measured: skew, costs and errors.

use super::Severity::{Advice, Note, Problem};
use super::source::is_emulated;
use super::{Finding, finding};
use crate::doctor::errors::Distances;
use crate::doctor::evidence::Evidence;
use crate::output::Ns;

/// More than the skew of cores that the kernel itself tolerates in its clock.
const MUCH_SKEW_NS: f64 = 100.0;
/// More than any clock costs that is read without a system call.
const SLOW_NS: f64 = 150.0;
/// More than a timeline's error on a calm machine, interruptions included.
const MUCH_ERROR_NS: f64 = 1000.0;

pub(super) fn add(evidence: &Evidence, all: &mut Vec<Finding>) {
    skew(evidence, all);
    speed(evidence, all);
    errors(evidence, all);
    not_measured(evidence, all);
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
        all.push(
            finding(Note, "debug-build", text)
                .with("Build it with --release, as cargo install does."),
        );
    }
    if is_emulated(evidence) {
        return;
    }
    if let Some(ns) = evidence.cost_ns("std Instant").filter(|&ns| ns > SLOW_NS) {
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

/// What is known to no microsecond is neither good nor bad.
fn not_measured(evidence: &Evidence, all: &mut Vec<Finding>) {
    let names: Vec<_> = evidence.not_measured().into_iter().map(|one| one.name).collect();
    let Some((last, others)) = names.split_last() else { return };
    let names =
        if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
    let text = format!(
        "This could not be measured to a microsecond: {names}. The reason: {}.",
        evidence.why_not_measured()
    );
    all.push(
        finding(Note, "not-measured", text).with("Run tach doctor again when the machine is calm."),
    );
}

fn errors(evidence: &Evidence, all: &mut Vec<Finding>) {
    let errors = &evidence.errors;
    let timelines = [("monotonic", errors.monotonic), ("real-time", errors.realtime)];
    for (name, distances) in timelines {
        let is_far = |found: &Distances| found.is_known() && found.median_ns > MUCH_ERROR_NS;
        let Some(found) = distances.filter(is_far) else {
            continue;
        };
        let text = format!(
            "tach's timeline was {} from the OS's {name} clock most of the time. The clock is \
             slewed, or this machine is emulated or overloaded.",
            Ns(found.median_ns)
        );
        all.push(finding(Advice, "timeline-error", text).with(
            "Run `tach drift --for 20m --plot drift.svg`: it shows steps and changes of rate.",
        ));
    }
}
