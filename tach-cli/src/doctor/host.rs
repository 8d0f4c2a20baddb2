//! The statements of Linux's files about its clocks, its hypervisor and its sandboxes.
//!
//! tach-core needs none of these except the clocksources, which it reads itself.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

const CLOCKSOURCE: &str = "sys/devices/system/clocksource/clocksource0";

/// The most bytes of a file. The CPUs' descriptions are the longest, of which the first counts.
const MOST_BYTES: u64 = 1024 * 1024;

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

/// The files of this host, or of another one below a folder.
#[derive(Debug)]
pub(crate) struct Files {
    /// `None` if there are no such files on this system.
    root: Option<PathBuf>,
    is_this_host: bool,
}

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
    /// The hypervisor, or the maker of the virtual machine.
    pub(crate) hypervisor: Option<String>,
    pub(crate) vmclock: Device,
    /// The names of the PTP clocks, such as the hypervisor's.
    pub(crate) ptp_clocks: Vec<String>,
    /// The offsets of this time namespace's clocks, if it has any.
    pub(crate) time_namespace: Option<Offsets>,
    /// Sandboxes that change or hide clocks.
    pub(crate) sandboxes: Vec<String>,
}

/// Whether this process can use a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Device {
    #[default]
    Absent,
    /// It exists, and this process may not read it.
    Unreadable,
    Readable,
}

/// The offsets of a time namespace, in seconds (`time_namespaces(7)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Offsets {
    pub(crate) monotonic_s: i64,
    pub(crate) boottime_s: i64,
}

impl Files {
    /// Returns the files below `root`, or by default those of this host, if it is Linux.
    pub(crate) fn new(root: Option<PathBuf>) -> Self {
        let is_this_host = root.is_none();
        Self { root: root.or_else(|| cfg!(target_os = "linux").then(|| "/".into())), is_this_host }
    }

    pub(crate) fn is_this_host(&self) -> bool {
        self.is_this_host
    }

    pub(crate) fn read(&self) -> Host {
        let cpuinfo = self.text("proc/cpuinfo").unwrap_or_default();
        let flags = field(&cpuinfo, "flags").unwrap_or_default();
        let has_flag = |name: &str| flags.split(' ').any(|flag| flag == name);
        let parameters = self.text("proc/cmdline").unwrap_or_default();
        let concerns_clocks = |word: &&str| PARAMETERS.iter().any(|name| word.starts_with(name));
        Host {
            kernel: self.line("proc/sys/kernel/osrelease"),
            cpu: field(&cpuinfo, "model name").map(str::to_owned),
            tsc_flags: owned(TSC_FLAGS.into_iter().filter(|flag| has_flag(flag))),
            clocksource: self.line(&format!("{CLOCKSOURCE}/current_clocksource")),
            available_clocksources: self.line(&format!("{CLOCKSOURCE}/available_clocksource")),
            kernel_parameters: owned(parameters.split_whitespace().filter(concerns_clocks)),
            hypervisor: self.hypervisor(has_flag("hypervisor")),
            vmclock: self.device("dev/vmclock0"),
            ptp_clocks: self.ptp_clocks(),
            time_namespace: self
                .text("proc/self/timens_offsets")
                .and_then(|text| offsets(&text))
                .filter(|offsets| *offsets != Offsets { monotonic_s: 0, boottime_s: 0 }),
            sandboxes: self.sandboxes(),
        }
    }

    /// Returns the name of the hypervisor, if there is one.
    fn hypervisor(&self, is_declared: bool) -> Option<String> {
        if let Some(kind) = self.line("sys/hypervisor/type") {
            return Some(kind);
        }
        if !is_declared {
            return None;
        }
        let names = ["sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name"];
        let names: Vec<_> = names.iter().filter_map(|name| self.line(name)).collect();
        Some(if names.is_empty() { "unknown hypervisor".to_owned() } else { names.join(" ") })
    }

    fn ptp_clocks(&self) -> Vec<String> {
        let folder = self.root.as_ref().map(|root| root.join("sys/class/ptp"));
        let entries = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
        let name =
            |entry: fs::DirEntry| read(&entry.path().join("clock_name")).map(|name| trimmed(&name));
        let mut names: Vec<_> = entries.flatten().filter_map(name).collect();
        names.sort_unstable();
        names
    }

    fn sandboxes(&self) -> Vec<String> {
        let version = self.text("proc/version").unwrap_or_default();
        let status = self.text("proc/self/status").unwrap_or_default();
        let lower = version.to_lowercase();
        let is_there = |path: &str| self.path(path).is_some_and(|path| path.exists());
        let found = [
            ("gVisor", lower.contains("gvisor") || version.contains(GVISOR_DATE)),
            ("WSL", lower.contains("microsoft")),
            ("container", is_there(".dockerenv") || is_there("run/.containerenv")),
            // 2 is SECCOMP_MODE_FILTER (proc(5)).
            ("seccomp filter", field(&status, "Seccomp") == Some("2")),
        ];
        owned(found.into_iter().filter(|(_, is_found)| *is_found).map(|(name, _)| name))
    }

    fn device(&self, path: &str) -> Device {
        let Some(path) = self.path(path).filter(|path| path.exists()) else {
            return Device::Absent;
        };
        if File::open(path).is_ok() { Device::Readable } else { Device::Unreadable }
    }

    fn path(&self, path: &str) -> Option<PathBuf> {
        self.root.as_ref().map(|root| root.join(path))
    }

    fn text(&self, path: &str) -> Option<String> {
        read(&self.path(path)?)
    }

    /// Returns the first line of a file, unless it is empty.
    fn line(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        Some(trimmed(text.lines().next()?)).filter(|line| !line.is_empty())
    }
}

/// Returns the text of a regular file. Of a file longer than any of the kernel's, the beginning.
fn read(path: &Path) -> Option<String> {
    // Opening a FIFO would wait for its other end.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn owned<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.map(str::to_owned).collect()
}

fn trimmed(text: &str) -> String {
    text.trim().to_owned()
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
        let files = Files { root: None, is_this_host: true };
        assert_eq!(files.read(), Host::default());
    }
}
