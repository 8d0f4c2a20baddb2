//! The statements of Linux's files about its clocks, its hypervisor and its sandboxes.
//!
//! tach-core needs none of these except the clocksources, which it reads itself.

use serde::Serialize;
use tach_core::adapter;

use super::files::{Device, Files};
use super::hypervisor::{self, Clues};

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

/// The file that a hypervisor's clock device has, if the kernel has its driver.
const VMCLOCK: &str = "dev/vmclock0";
/// The ACPI device of that clock (Linux, `drivers/ptp/ptp_vmclock.c`).
const VMCLOCK_IDS: [&str; 2] = ["AMZNC10C", "VMCLOCK"];

/// The statements of the files. A file that is missing or can't be read is `None` or empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Host {
    pub(crate) kernel: Option<String>,
    pub(crate) cpu: Option<String>,
    pub(crate) tsc_flags: Vec<String>,
    /// The clocksource in use.
    pub(crate) clocksource: Option<String>,
    pub(crate) available_clocksources: Option<String>,
    /// Those parameters of the kernel that change the choice of a clocksource.
    pub(crate) kernel_parameters: Vec<String>,
    pub(crate) hypervisor: Option<String>,
    /// The names by which the hypervisor presents itself to programs (CPUID).
    pub(crate) hypervisor_names: Vec<String>,
    /// The maker and the model of the machine.
    pub(crate) machine: Option<String>,
    pub(crate) vmclock: Device,
    /// The names of the PTP clocks, such as the hypervisor's.
    pub(crate) ptp_clocks: Vec<String>,
    /// The offsets of this time namespace's clocks, if it has any.
    pub(crate) time_namespace: Option<Offsets>,
    /// Sandboxes that change or hide clocks.
    pub(crate) sandboxes: Vec<String>,
    /// Libraries in the process that replace the C library's clocks.
    pub(crate) clock_libraries: Vec<String>,
}

/// The offsets of a time namespace, in seconds (`time_namespaces(7)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Offsets {
    pub(crate) monotonic_s: i64,
    pub(crate) boottime_s: i64,
}

impl Files {
    /// Reads the statements of the files.
    pub(crate) fn read(&self) -> Host {
        let cpuinfo = self.text("proc/cpuinfo").unwrap_or_default();
        let flags = field(&cpuinfo, "flags").unwrap_or_default();
        let has_flag = |name: &str| flags.split(' ').any(|flag| flag == name);
        let parameters = self.text("proc/cmdline").unwrap_or_default();
        let concerns_clocks = |word: &&str| PARAMETERS.iter().any(|name| word.starts_with(name));
        let devices = self.names("sys/bus/acpi/devices");
        let clues = self.clues(has_flag("hypervisor"), devices.clone());
        Host {
            kernel: self.line("proc/sys/kernel/osrelease"),
            cpu: field(&cpuinfo, "model name").map(str::to_owned),
            tsc_flags: owned(TSC_FLAGS.into_iter().filter(|flag| has_flag(flag))),
            clocksource: self.line(&format!("{CLOCKSOURCE}/current_clocksource")),
            available_clocksources: self.line(&format!("{CLOCKSOURCE}/available_clocksource")),
            kernel_parameters: owned(parameters.split_whitespace().filter(concerns_clocks)),
            hypervisor: clues.name(),
            hypervisor_names: clues.names.iter().flatten().map(hypervisor::text).collect(),
            machine: clues.machine,
            vmclock: self.vmclock(&devices),
            ptp_clocks: self.ptp_clocks(),
            time_namespace: self
                .text("proc/self/timens_offsets")
                .and_then(|text| offsets(&text))
                .filter(|offsets| *offsets != Offsets { monotonic_s: 0, boottime_s: 0 }),
            sandboxes: self.sandboxes(),
            clock_libraries: self.clock_libraries(),
        }
    }

    fn clues(&self, is_declared: bool, devices: Vec<String>) -> Clues {
        let names = ["sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name"];
        let names: Vec<_> = names.iter().filter_map(|name| self.line(name)).collect();
        // The header of each ACPI table has its maker at byte 10 (ACPI specification, 5.2.6).
        let tables = self
            .bytes("sys/firmware/acpi/tables/APIC")
            .and_then(|bytes| String::from_utf8(bytes.get(10..16)?.to_vec()).ok());
        let tree = self.text("proc/device-tree/hypervisor/compatible");
        Clues {
            is_declared,
            names: if self.is_this_host() { adapter::hypervisors() } else { [None; 2] },
            kernels: self.line("sys/hypervisor/type"),
            device_tree: tree.map(|text| text.split('\0').next().unwrap_or_default().to_owned()),
            machine: (!names.is_empty()).then(|| names.join(" ")),
            devices,
            tables,
        }
    }

    /// Returns the libraries of the process that replace clocks (faketime(1), datefudge(1)).
    fn clock_libraries(&self) -> Vec<String> {
        let maps = self.text("proc/self/maps").unwrap_or_default();
        let paths = maps.lines().filter_map(|line| line.split_once('/').map(|(_, path)| path));
        let names = paths.filter_map(|path| path.rsplit('/').next());
        let mut names: Vec<_> = owned(names.filter(|name| {
            let name = name.to_lowercase();
            name.contains(".so") && (name.contains("faketime") || name.contains("datefudge"))
        }));
        names.sort_unstable();
        names.dedup();
        names
    }

    fn vmclock(&self, devices: &[String]) -> Device {
        let is_clock = |device: &String| VMCLOCK_IDS.iter().any(|id| device.starts_with(id));
        match self.device(VMCLOCK) {
            Device::Absent if !self.exists(VMCLOCK) && devices.iter().any(is_clock) => {
                Device::NoDriver
            }
            device => device,
        }
    }

    fn ptp_clocks(&self) -> Vec<String> {
        let clocks = self.names("sys/class/ptp");
        let name = |clock: &String| self.line(&format!("sys/class/ptp/{clock}/clock_name"));
        let mut names: Vec<_> = clocks.iter().filter_map(name).collect();
        names.sort_unstable();
        names
    }

    fn sandboxes(&self) -> Vec<String> {
        let version = self.text("proc/version").unwrap_or_default();
        let status = self.text("proc/self/status").unwrap_or_default();
        let lower = version.to_lowercase();
        let is_there = |path: &str| self.exists(path);
        let found = [
            ("gVisor", lower.contains("gvisor") || version.contains(GVISOR_DATE)),
            ("WSL", lower.contains("microsoft")),
            ("container", is_there(".dockerenv") || is_there("run/.containerenv")),
            // 2 is SECCOMP_MODE_FILTER (proc(5)).
            ("seccomp filter", field(&status, "Seccomp") == Some("2")),
        ];
        owned(found.into_iter().filter(|(_, is_found)| *is_found).map(|(name, _)| name))
    }
}

fn owned<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.map(str::to_owned).collect()
}

/// Returns the value of the first line `name: value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// Parses lines such as `monotonic  -3600  0`.
fn offsets(text: &str) -> Option<Offsets> {
    let seconds = |name: &str| {
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some(name)).then(|| words.next()?.parse().ok())?
        })
    };
    Some(Offsets { monotonic_s: seconds("monotonic")?, boottime_s: seconds("boottime")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_the_text_after_the_first_line_of_its_name() {
        let text = "processor\t: 0\nmodel name\t: A CPU: fast\nmodel name\t: another\n";
        assert_eq!(field(text, "model name"), Some("A CPU: fast"));
        assert_eq!(field(text, "model"), None);
    }

    #[test]
    fn offsets_have_two_clocks() {
        let text = "monotonic       -3600         0\nboottime          86400         5\n";
        let expected = Offsets { monotonic_s: -3600, boottime_s: 86_400 };
        assert_eq!(offsets(text), Some(expected));
        assert_eq!(offsets("monotonic 1 0\n"), None);
        assert_eq!(offsets("monotonic x 0\nboottime 0 0\n"), None);
    }

    #[test]
    fn a_host_without_files_has_no_statements() {
        let files = Files::none();
        // The CPU has the name of the hypervisor, and no file.
        let statements = Host { hypervisor: None, hypervisor_names: Vec::new(), ..files.read() };
        assert_eq!(statements, Host::default());
    }
}
