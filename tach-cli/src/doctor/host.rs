//! The statements of Linux's files about its clocks, its hypervisor and its sandboxes.
//!
//! tach-core needs none of these except the clocksources, which it reads itself.

use serde::Serialize;
use tach_core::adapter;

use super::files::{Device, Files};
use crate::output::harmless;

const CLOCKSOURCE: &str = "sys/devices/system/clocksource/clocksource0";

/// The CPU's flags that describe the TSC (arch/x86/include/asm/cpufeatures.h).
const TSC_FLAGS: [&str; 8] = [
    "tsc",
    "rdtscp",
    "constant_tsc",
    "nonstop_tsc",
    "tsc_reliable",
    "tsc_known_freq",
    "tsc_adjust",
    "tsc_deadline_timer",
];

/// The kernel parameters that change the choice of a clocksource
/// (Documentation/admin-guide/kernel-parameters.txt).
const PARAMETERS: [&str; 5] = ["clocksource=", "tsc=", "notsc", "no-kvmclock", "nohpet"];

/// gVisor's `/proc/version` had this date before it had the name (google/gvisor#13016).
const GVISOR_DATE: &str = "Sun Jan 10 15:06:54 PST 2016";

/// The file of a hypervisor's clock device, which exists if the kernel has the device's driver.
const VMCLOCK: &str = "dev/vmclock0";
/// The ACPI device of that clock (Linux, `drivers/ptp/ptp_vmclock.c`).
const VMCLOCK_IDS: [&str; 2] = ["AMZNC10C", "VMCLOCK"];

/// The names that hypervisors report by CPUID (Linux, arch/x86/kernel/cpu/; systemd,
/// src/basic/virt.c).
const HYPERVISORS: [(&[u8; 12], &str); 6] = [
    (b"KVMKVMKVM\0\0\0", "KVM"),
    (HYPER_V, "Hyper-V"),
    (b"XenVMMXenVMM", "Xen"),
    (b"VMwareVMware", "VMware"),
    (b"TCGTCGTCGTCG", "QEMU without KVM"),
    (b"VBoxVBoxVBox", "VirtualBox"),
];
const HYPER_V: &[u8; 12] = b"Microsoft Hv";

/// The statements of the files. A file that is missing or can't be read is `None` or empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Host {
    pub(super) kernel: Option<String>,
    pub(super) cpu: Option<String>,
    pub(super) tsc_flags: Vec<&'static str>,
    /// The clocksource in use.
    pub(super) clocksource: Option<String>,
    pub(super) available_clocksources: Option<String>,
    /// Those parameters of the kernel that change the choice of a clocksource.
    pub(super) kernel_parameters: Vec<String>,
    pub(super) hypervisor: Option<String>,
    /// The maker and the model of the machine.
    pub(super) machine: Option<String>,
    pub(super) vmclock: Device,
    pub(super) sandboxes: Vec<&'static str>,
}

impl Host {
    pub(super) fn read(files: &Files) -> Self {
        let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
        let flags = field(&cpuinfo, "flags").unwrap_or_default();
        let has_flag = |name: &str| flags.split(' ').any(|flag| flag == name);
        let parameters = files.text("proc/cmdline").unwrap_or_default();
        let concerns_clocks = |word: &&str| PARAMETERS.iter().any(|name| word.starts_with(name));
        let parameters = parameters.split_whitespace().filter(concerns_clocks);
        let names = ["sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name"];
        let names: Vec<_> = names.iter().filter_map(|name| files.line(name)).collect();
        let machine = (!names.is_empty()).then(|| names.join(" "));
        // The names of this machine's CPU say nothing about another host.
        let by_cpuid = if files.is_this_host { adapter::hypervisors() } else { [None; 2] };
        let hypervisor = of_cpuid(by_cpuid)
            .or_else(|| files.line("sys/hypervisor/type").map(|kind| kind.replace("xen", "Xen")))
            .or_else(|| of_machine(machine.as_deref()?))
            .or_else(|| has_flag("hypervisor").then(|| "of unknown make".to_owned()));
        Self {
            kernel: files.line("proc/sys/kernel/osrelease"),
            cpu: field(&cpuinfo, "model name").map(str::to_owned),
            tsc_flags: TSC_FLAGS.into_iter().filter(|flag| has_flag(flag)).collect(),
            clocksource: files.line(&format!("{CLOCKSOURCE}/current_clocksource")),
            available_clocksources: files.line(&format!("{CLOCKSOURCE}/available_clocksource")),
            kernel_parameters: parameters.map(str::to_owned).collect(),
            hypervisor,
            machine,
            vmclock: vmclock(files),
            sandboxes: sandboxes(files),
        }
    }
}

fn of_cpuid([first, second]: [Option<[u8; 12]>; 2]) -> Option<String> {
    let known = |name: &[u8; 12]| HYPERVISORS.iter().find(|(known, _)| *known == name);
    // Other hypervisors show Hyper-V's name first, so that Windows uses its interface, and their
    // own name second.
    let own = second.filter(|own| first.as_ref() == Some(HYPER_V) && known(own).is_some());
    let name = own.or(first)?;
    let text = || harmless(String::from_utf8_lossy(&name).trim_end_matches('\0'));
    Some(known(&name).map_or_else(text, |(_, product)| (*product).to_owned()))
}

/// Returns the hypervisor of a cloud's machine whose CPU has no CPUID.
fn of_machine(machine: &str) -> Option<String> {
    let is_guest = ["QEMU", "Amazon EC2", "Google"].iter().any(|maker| machine.starts_with(maker));
    (is_guest && !machine.contains(".metal")).then(|| "KVM".to_owned())
}

fn vmclock(files: &Files) -> Device {
    let is_clock = |device: &String| VMCLOCK_IDS.iter().any(|id| device.starts_with(id));
    match files.device(VMCLOCK) {
        Device::Absent if files.names("sys/bus/acpi/devices").iter().any(is_clock) => {
            Device::NoDriver
        }
        device => device,
    }
}

fn sandboxes(files: &Files) -> Vec<&'static str> {
    let version = files.text("proc/version").unwrap_or_default();
    let status = files.text("proc/self/status").unwrap_or_default();
    let lower = version.to_lowercase();
    let found = [
        ("gVisor", lower.contains("gvisor") || version.contains(GVISOR_DATE)),
        ("WSL", lower.contains("microsoft")),
        ("container", files.exists(".dockerenv") || files.exists("run/.containerenv")),
        // 2 is SECCOMP_MODE_FILTER (proc(5)).
        ("seccomp filter", field(&status, "Seccomp") == Some("2")),
    ];
    found.into_iter().filter_map(|(name, is_found)| is_found.then_some(name)).collect()
}

/// Returns the value of the first line `name: value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KVM: Option<[u8; 12]> = Some(*b"KVMKVMKVM\0\0\0");

    #[test]
    fn a_field_is_the_text_after_the_first_line_of_its_name() {
        let text = "processor\t: 0\nmodel name\t: A CPU: fast\nmodel name\t: another\n";
        assert_eq!(field(text, "model name"), Some("A CPU: fast"));
        assert_eq!(field(text, "model"), None);
    }

    #[test]
    fn cpuid_names_the_hypervisor() {
        for (name, product) in [
            (b"KVMKVMKVM\0\0\0", "KVM"),
            (b"Microsoft Hv", "Hyper-V"),
            (b"XenVMMXenVMM", "Xen"),
            (b"VMwareVMware", "VMware"),
            (b"VBoxVBoxVBox", "VirtualBox"),
            (b"\x1b[2J\0\0\0\0\0\0\0\0", "\u{fffd}[2J"),
        ] {
            assert_eq!(of_cpuid([Some(*name), None]).as_deref(), Some(product));
        }
        assert_eq!(of_cpuid([None, None]), None);
    }

    #[test]
    fn an_imitation_of_hyper_v_has_the_second_name() {
        let named = |first, second| of_cpuid([first, second]);
        assert_eq!(named(Some(*HYPER_V), KVM).as_deref(), Some("KVM"));
        assert_eq!(named(Some(*HYPER_V), Some(*b"XenVMMXenVMM")).as_deref(), Some("Xen"));
        assert_eq!(named(Some(*HYPER_V), Some(*b"????????????")).as_deref(), Some("Hyper-V"));
        // Only Hyper-V is imitated: any other first name is the hypervisor's own, whatever the
        // second.
        assert_eq!(named(KVM, Some(*HYPER_V)).as_deref(), Some("KVM"));
    }

    #[test]
    fn without_cpuid_the_machine_names_it() {
        assert_eq!(of_machine("Amazon EC2 m7g.large").as_deref(), Some("KVM"));
        assert_eq!(of_machine("Amazon EC2 m7g.metal"), None);
        assert_eq!(of_machine("Dell Inc. PowerEdge"), None);
    }

    #[test]
    fn a_host_without_files_has_no_statements() {
        let files = Files::new(Some("/no/such/root".into()));
        assert_eq!(Host::read(&files), Host::default());
    }
}
