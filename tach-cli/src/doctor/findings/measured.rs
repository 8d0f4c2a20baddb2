//! What was measured: skew, costs and errors.

use super::Severity::{Advice, Note, Problem};
use super::source::is_emulated;
use super::{Finding, finding};
use crate::doctor::evidence::Evidence;
use crate::doctor::skew::Offset;
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
    let worst = Offset::worst(evidence.skew.iter().flatten());
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

/// Notes the measurements whose bound exceeds a microsecond: they are neither good nor bad.
fn not_measured(evidence: &Evidence, all: &mut Vec<Finding>) {
    let names = evidence.not_measured();
    if names.is_empty() {
        return;
    }
    let text = format!(
        "This could not be measured to a microsecond: {}. The reason: {}.",
        names.join(", "),
        evidence.why_not_measured()
    );
    all.push(
        finding(Note, "not-measured", text).with("Run tach doctor again when the machine is calm."),
    );
}

fn errors(evidence: &Evidence, all: &mut Vec<Finding>) {
    let far = evidence.errors.iter().filter(|one| one.is_known() && one.median_ns > MUCH_ERROR_NS);
    all.extend(far.map(|found| {
        let text = format!(
            "{} was {} from the OS's clock most of the time. The clock is slewed, or this machine \
             is emulated or overloaded.",
            found.name,
            Ns(found.median_ns)
        );
        finding(Advice, "timeline-error", text)
            .with("Run `tach drift --for 5m --plot drift.svg`: the plot shows steps and slews.")
    }));
}
