//! The OS's clocks: whether they are the kernel's, and what keeps them at UTC.

use super::Severity::{Advice, Note, Problem};
use super::{Finding, finding};
use crate::doctor::evidence::Evidence;
use crate::output::Ns;

pub(super) fn add(evidence: &Evidence, all: &mut Vec<Finding>) {
    replaced(evidence, all);
    synchronized(evidence, all);
}

/// The C library's clocks are not the kernel's.
fn replaced(evidence: &Evidence, all: &mut Vec<Finding>) {
    let libraries = &evidence.host.clock_libraries;
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
    all.push(finding(Problem, "os-clock-replaced", text).with(
        "Start the program without LD_PRELOAD, without faketime(1), and without a line in \
         /etc/ld.so.preload.",
    ));
}

fn synchronized(evidence: &Evidence, all: &mut Vec<Finding>) {
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
        .with(
            "Run chrony, or enable systemd-timesyncd: timedatectl set-ntp true. If one of them \
             runs, look at its log: has it reached a server, and may it set the clock?",
        ),
        Some(_) => return,
    });
}
