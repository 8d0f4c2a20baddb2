//! The files of a host.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::output::harmless;

/// The maximum number of bytes to read of a file. The longest file describes all CPUs, but the
/// first CPU suffices.
const MOST_BYTES: u64 = 1024 * 1024;

/// The files of this host, or of another one below a folder.
#[derive(Debug)]
pub(super) struct Files {
    /// `None` if there are no such files on this system.
    root: Option<PathBuf>,
    pub(super) is_this_host: bool,
}

/// Whether this process can use a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Device {
    #[default]
    Absent,
    /// The hypervisor has one, and the kernel lacks its driver.
    NoDriver,
    Unreadable,
    Readable,
}

impl Files {
    /// Returns the files below `root`, or by default those of this host, if it is Linux.
    pub(super) fn new(root: Option<PathBuf>) -> Self {
        let is_this_host = root.is_none();
        let root = root.or_else(|| cfg!(target_os = "linux").then(|| "/".into()));
        Self { root, is_this_host }
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.path(path).is_some_and(|path| path.exists())
    }

    pub(super) fn device(&self, path: &str) -> Device {
        match self.path(path) {
            Some(path) if File::open(&path).is_ok() => Device::Readable,
            Some(path) if path.exists() => Device::Unreadable,
            _ => Device::Absent,
        }
    }

    /// Returns the text of a file, without control characters.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let bytes = read(&self.path(path)?)?;
        Some(harmless(&String::from_utf8_lossy(&bytes)))
    }

    /// Returns the first line of a file, unless it is empty.
    pub(super) fn line(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
    }

    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let entries = self.path(path).and_then(|path| fs::read_dir(path).ok());
        let entries = entries.into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn path(&self, path: &str) -> Option<PathBuf> {
        self.root.as_ref().map(|root| root.join(path))
    }
}

/// Returns the bytes of a regular file, at most [`MOST_BYTES`].
fn read(path: &Path) -> Option<Vec<u8>> {
    // Opening a FIFO would wait for its other end.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
