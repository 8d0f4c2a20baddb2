//! The OS's clocks: whether they are the kernel's, and what keeps them at UTC.

use super::Severity::{Advice, Note, Problem};
use super::{Finding, finding};
use crate::doctor::evidence::Evidence;
use crate::output::Ns;

pub(super) fn add(evidence: &Evidence, all: &mut Vec<Finding>) {
    replaced(evidence, all);
    synchronized(evidence, all);
    daemons(evidence, all);
}

/// The C library's clocks are not the kernel's.
fn replaced(evidence: &Evidence, all: &mut Vec<Finding>) {
    let libraries = &evidence.host.clock_libraries;
    let remedy = "Start the program without LD_PRELOAD, without faketime(1), and without a line in \
                  /etc/ld.so.preload.";
    if let Some(process) = &evidence.process {
        if !libraries.is_empty() {
            let text = format!(
                "Process {} has loaded {}, which replaces the clocks of the C library. Its times \
                 are what that library says.",
                process.pid,
                libraries.join(" and ")
            );
            all.push(finding(Problem, "os-clock-replaced", text).with(remedy));
        }
        return;
    }
    #[expect(clippy::cast_precision_loss, reason = "a printed time needs no more")]
    let lies: Vec<_> = evidence
        .os_clock
        .iter()
        .flat_map(|clock| clock.lies())
        .map(|(name, off_ns)| format!("the {name} clock is off by {}", Ns(off_ns as f64)))
        .collect();
    if lies.is_empty() {
        return;
    }
    let by = if libraries.is_empty() {
        String::new()
    } else {
        format!(" This process has loaded {}.", libraries.join(" and "))
    };
    let text = format!(
        "The C library's clocks are not the kernel's, which a system call of this program reads: {}.\
         {by} All other figures here are about the replacement.",
        lies.join(" and ")
    );
    all.push(finding(Problem, "os-clock-replaced", text).with(remedy));
}

fn synchronized(evidence: &Evidence, all: &mut Vec<Finding>) {
    let chrony = evidence.daemons.chrony.as_ref();
    let by_chrony = chrony.map(|chrony| chrony.is_synchronized);
    all.push(match (&evidence.ntp, by_chrony) {
        (None, None) => finding(
            Note,
            "ntp-unknown",
            "This system does not state how far its clock is from UTC.",
        ),
        (Some(ntp), Some(true)) if !ntp.is_synchronized => finding(
            Note,
            "kernel-not-told",
            "chronyd follows a source, and the kernel calls the clock unsynchronized: chronyd does \
             not tell it, or does not steer the clock. Programs that ask the kernel, as tach does \
             for its bound to UTC, get no answer.",
        )
        .with("Add the line \"rtcsync\" to chrony.conf, and start chronyd without -x."),
        (Some(ntp), Some(false)) if ntp.is_synchronized => finding(
            Advice,
            "chrony-not-synchronized",
            "The kernel calls the OS clock synchronized, but chronyd follows no source now.",
        )
        .with("Look at chronyc sources: are they reachable?"),
        (_, Some(false)) => finding(
            Advice,
            "chrony-not-synchronized",
            "chronyd runs and follows no source: the OS clock is as good as the oscillator, and \
             Unix time of two hosts can't be compared.",
        )
        .with("Look at chronyc sources: are they reachable?"),
        (Some(ntp), None) if !ntp.is_synchronized => not_synchronized(evidence),
        _ => return,
    });
}

/// No daemon is known to have set the clock.
fn not_synchronized(evidence: &Evidence) -> Finding {
    let daemons = &evidence.daemons;
    let text = "Nothing synchronises the OS clock with UTC, as far as the kernel knows. Durations \
                are as good as the oscillator, and Unix time of two hosts can't be compared.";
    if daemons.running.is_empty() {
        return finding(Advice, "not-synchronized", text)
            .with("Run chrony, or enable systemd-timesyncd: timedatectl set-ntp true.");
    }
    let running = daemons.running.join(" and ");
    finding(Advice, "not-synchronized", format!("{text} {running} runs here."))
        .with("Look at its log: has it reached a server, and may it set the clock?")
}

fn daemons(evidence: &Evidence, all: &mut Vec<Finding>) {
    let daemons = &evidence.daemons;
    let runs = |name: &str| daemons.running.iter().any(|one| one == name);
    // ptp4l steers a network card's clock, and phc2sys or chronyd carries that to the OS's.
    let setters: Vec<_> =
        daemons.running.iter().filter(|name| *name != "ptp4l").map(String::as_str).collect();
    if setters.len() > 1 {
        let text = format!(
            "{} run at once. Each of them steers the OS clock, against the others unless all but \
             one are configured not to.",
            setters.join(" and ")
        );
        all.push(finding(Advice, "several-daemons", text).with("Stop all but one."));
    }
    if runs("ptp4l") && !runs("phc2sys") && !runs("chronyd") {
        let text = "ptp4l runs without phc2sys or chronyd: with hardware timestamps it steers the \
                    clock of the network card, and nothing carries that to the OS clock.";
        all.push(finding(Note, "ptp-alone", text).with("Run phc2sys -a -r beside ptp4l."));
    }
    let Some(ptp) = &daemons.ptp else { return };
    if !ptp.has_grandmaster {
        let ports = ptp.ports.join(", ");
        let text = format!("ptp4l follows no grandmaster. The states of its ports: {ports}.");
        all.push(
            finding(Advice, "ptp-not-synchronized", text)
                .with("Look at its log, and whether a grandmaster is in this PTP domain."),
        );
    }
}
