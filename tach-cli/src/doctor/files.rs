//! The files of a host.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The most bytes of a file. The CPUs' descriptions are the longest, of which the first counts.
const MOST_BYTES: u64 = 1024 * 1024;

/// The files of this host, or of another one below a folder.
#[derive(Debug)]
pub(crate) struct Files {
    /// `None` if there are no such files on this system.
    root: Option<PathBuf>,
    /// Whether these are the files that tach-core read in this process.
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
    /// It exists, and this process may not read it.
    Unreadable,
    Readable,
}

impl Files {
    /// Returns the files below `root`, or by default those of this host, if it is Linux.
    pub(crate) fn new(root: Option<PathBuf>) -> Self {
        let is_this_host = root.is_none();
        Self { root: root.or_else(|| cfg!(target_os = "linux").then(|| "/".into())), is_this_host }
    }

    /// Returns no files, as on a system that has none of these.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { root: None, ..Self::new(None) }
    }

    pub(crate) fn is_this_host(&self) -> bool {
        self.is_this_host
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).is_some_and(|path| path.exists())
    }

    pub(super) fn device(&self, path: &str) -> Device {
        let Some(path) = self.path(path).filter(|path| path.exists()) else {
            return Device::Absent;
        };
        if File::open(path).is_ok() { Device::Readable } else { Device::Unreadable }
    }

    pub(super) fn path(&self, path: &str) -> Option<PathBuf> {
        self.root.as_ref().map(|root| root.join(path))
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        self.bytes(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        read(&self.path(path)?)
    }

    /// Returns the first line of a file, unless it is empty.
    pub(super) fn line(&self, path: &str) -> Option<String> {
        Some(self.text(path)?.lines().next()?.trim().to_owned()).filter(|line| !line.is_empty())
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
