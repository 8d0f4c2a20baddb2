//! The files of a host, as a process sees them.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde::Serialize;

/// The most bytes of a file. The CPUs' descriptions are the longest, of which the first counts.
const MOST_BYTES: u64 = 1024 * 1024;

/// The files of this host, or of another one below a folder, as a process sees them.
#[derive(Debug)]
pub(crate) struct Files {
    /// `None` if there are no such files on this system.
    root: Option<PathBuf>,
    /// The root of the process, below `root`: a container has files of its own.
    own_root: PathBuf,
    /// The process's folder, below `root`.
    process: PathBuf,
    /// Whether these are the files that tach-core read in this process.
    is_this_process: bool,
    is_this_host: bool,
}

/// Whether this process can use a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Device {
    #[default]
    Absent,
    /// The hypervisor has one, and the kernel lacks its driver.
    NoDriver,
    /// It exists. It was not opened, so whether the process may read it is not known.
    Present,
    /// It exists, and this process may not read it.
    Unreadable,
    Readable,
}

impl Files {
    /// Returns the files below `root`, or by default those of this host, if it is Linux, as this
    /// process sees them.
    pub(crate) fn new(root: Option<PathBuf>) -> Self {
        let is_this_host = root.is_none();
        Self {
            root: root.or_else(|| cfg!(target_os = "linux").then(|| "/".into())),
            own_root: PathBuf::new(),
            process: "proc/self".into(),
            is_this_process: is_this_host,
            is_this_host,
        }
    }

    /// Returns no files, as on a system that has none of these.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { root: None, ..Self::new(None) }
    }

    /// Returns the same files as the process `pid` sees them.
    pub(crate) fn of_process(self, pid: u32) -> anyhow::Result<Self> {
        let process = PathBuf::from(format!("proc/{pid}"));
        let root = self.root.as_ref().context("only Linux shows the state of other processes")?;
        ensure!(root.join(&process).exists(), "there is no process {pid}");
        // Its own error is about the path of a link, and says nothing about the process.
        let can_look = fs::metadata(root.join(&process).join("root")).is_ok();
        ensure!(can_look, "this user may not look into process {pid}: run as its user or as root");
        Ok(Self { own_root: process.join("root"), process, is_this_process: false, ..self })
    }

    pub(crate) fn is_this_process(&self) -> bool {
        self.is_this_process
    }

    pub(crate) fn is_this_host(&self) -> bool {
        self.is_this_host
    }

    /// Returns a variable of the environment that the process was started with.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let environment = self.of_own("environ")?;
        let mut variables = environment.split('\0').filter_map(|one| one.split_once('='));
        variables.find(|(own, _)| *own == name).map(|(_, value)| value.to_owned())
    }

    /// Returns the names of all processes, in the order of the names.
    pub(crate) fn processes(&self) -> Vec<String> {
        let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
        let pids = self.names("proc").into_iter().filter(is_number);
        let mut names: Vec<_> =
            pids.filter_map(|pid| self.line(&format!("proc/{pid}/comm"))).collect();
        names.sort_unstable();
        names
    }

    /// Returns the name of the process.
    pub(crate) fn process_name(&self) -> Option<String> {
        Some(trimmed(&self.of_own("comm")?)).filter(|name| !name.is_empty())
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).is_some_and(|path| path.exists())
    }

    pub(super) fn device(&self, path: &str) -> Device {
        let Some(path) = self.own_path(path).filter(|path| path.exists()) else {
            return Device::Absent;
        };
        if self.is_of_other_process() {
            // Whoever fills the root of another process may have put any device there, and some act
            // on being opened, as a watchdog does.
            return Device::Present;
        }
        if File::open(path).is_ok() { Device::Readable } else { Device::Unreadable }
    }

    pub(super) fn is_of_other_process(&self) -> bool {
        !self.own_root.as_os_str().is_empty()
    }

    pub(super) fn path(&self, path: &str) -> Option<PathBuf> {
        self.root.as_ref().map(|root| root.join(path))
    }

    /// Returns a path as the process sees it.
    pub(super) fn own_path(&self, path: &str) -> Option<PathBuf> {
        self.root.as_ref().map(|root| root.join(&self.own_root).join(path))
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        self.bytes(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        read(&self.path(path)?)
    }

    /// Returns the text of a file in the process's folder.
    pub(super) fn of_own(&self, name: &str) -> Option<String> {
        let path = self.root.as_ref()?.join(&self.process).join(name);
        read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the first line of a file, unless it is empty.
    pub(super) fn line(&self, path: &str) -> Option<String> {
        first_line(&self.text(path)?)
    }

    /// Returns the first line of a file that the process sees, unless it is empty.
    pub(super) fn own_line(&self, path: &str) -> Option<String> {
        let whole = self.own_path(path)?;
        // A link in the root of another process leads out of that root, to files that its user may
        // not read.
        let depth = Path::new(path).components().count();
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        if self.is_of_other_process() && whole.ancestors().take(depth).any(is_link) {
            return None;
        }
        first_line(&String::from_utf8_lossy(&read(&whole)?))
    }

    /// Returns the names in a folder.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let entries = self.path(path).and_then(|path| fs::read_dir(path).ok());
        let entries = entries.into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }
}

/// Returns the bytes of a regular file. Of a file longer than any of the kernel's, the beginning.
fn read(path: &Path) -> Option<Vec<u8>> {
    // Opening a FIFO would wait for its other end.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn first_line(text: &str) -> Option<String> {
    Some(trimmed(text.lines().next()?)).filter(|line| !line.is_empty())
}

fn trimmed(text: &str) -> String {
    text.trim().to_owned()
}
