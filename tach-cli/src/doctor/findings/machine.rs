//! The machine around the clock: hypervisor, namespaces, sandboxes.

use super::Severity::{Advice, Note};
use super::{Finding, finding};
use crate::doctor::evidence::Evidence;
use crate::doctor::files::Device;

pub(super) fn add(evidence: &Evidence, all: &mut Vec<Finding>) {
    let host = &evidence.host;
    let is_in = |name: &str| host.sandboxes.contains(&name);
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
        Device::NoDriver => all.push(
            finding(
                Note,
                "vmclock-without-driver",
                format!(
                    "{without}, whose hypervisor announces a vmclock device, and the kernel has no \
                     driver for it: a migration or a restored snapshot is noticed by the step that \
                     follows, within 100 ms of use."
                ),
            )
            .with("Use Linux 6.13 or later with CONFIG_PTP_1588_CLOCK_VMCLOCK."),
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
