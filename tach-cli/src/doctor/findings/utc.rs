//! The OS's clocks: whether they are the kernel's, and whether something keeps them at UTC.

use super::Severity::{Advice, Note, Problem};
use super::{Finding, finding};
use crate::doctor::evidence::Evidence;
use crate::output::Ns;

pub(super) fn add(evidence: &Evidence, all: &mut Vec<Finding>) {
    let lies = evidence.os_clock.iter().flat_map(|clock| clock.lies());
    #[expect(clippy::cast_precision_loss, reason = "a printed time needs no more")]
    let lies: Vec<_> = lies
        .map(|(name, off_ns)| format!("the {name} clock is off by {}", Ns(off_ns as f64)))
        .collect();
    if !lies.is_empty() {
        let text = format!(
            "The C library's clocks are not the kernel's, which a system call of this program \
             reads: {}. All other figures here are about the replacement.",
            lies.join(" and ")
        );
        all.push(finding(Problem, "os-clock-replaced", text).with(
            "Start the program without LD_PRELOAD, without faketime(1), and without a line in \
             /etc/ld.so.preload.",
        ));
    }
    match &evidence.ntp {
        None => all.push(finding(
            Note,
            "ntp-unknown",
            "This system does not state how far its clock is from UTC.",
        )),
        Some(ntp) if !ntp.is_synchronized => all.push(
            finding(
                Advice,
                "not-synchronized",
                "Nothing synchronises the OS clock with UTC, as far as the kernel knows. Durations \
                 are as good as the oscillator, and Unix time of two hosts can't be compared.",
            )
            .with(
                "Run chrony, or enable systemd-timesyncd: timedatectl set-ntp true. If one of them \
                 runs, look at its log: has it reached a server? chrony tells the kernel if its \
                 configuration has the line rtcsync.",
            ),
        ),
        Some(_) => {}
    }
}
