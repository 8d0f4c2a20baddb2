//! The files of dumps: few, and not too often.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::FlightFormat;
use super::snapshot::Snapshot;
use crate::sink::new_file;

/// The beginning of the files' names.
const PREFIX: &str = "flight-";
/// The end of the name of a file that is being written.
const PARTIAL: &str = "partial";

/// Why a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Panic,
    SlowSpan,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Panic => "a panic",
            Self::SlowSpan => "a slow span",
        })
    }
}

pub(crate) struct Files {
    folder: PathBuf,
    format: FlightFormat,
    most: usize,
    pause: Duration,
    /// When the last file was begun, by cause.
    begun: Mutex<[Option<Instant>; 2]>,
    next: AtomicU64,
}

impl Files {
    pub(super) fn new(folder: PathBuf, format: FlightFormat, most: usize, pause: Duration) -> Self {
        let (begun, next) = (Mutex::default(), AtomicU64::new(0));
        Self { folder, format, most, pause, begun, next }
    }

    /// Returns whether a file may be written for this cause, and begins the pause if so.
    pub(crate) fn begin(&self, cause: Cause) -> bool {
        // No code panics while it is held.
        let mut all = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = &mut all[cause as usize];
        let is_due = begun.is_none_or(|begun| begun.elapsed() >= self.pause);
        if is_due {
            *begun = Some(Instant::now());
        }
        is_due
    }

    /// Writes a file, deletes the oldest beyond the bound, and returns the new one's path.
    ///
    /// # Errors
    ///
    /// If the folder can't be made, or the file can't be written.
    pub(crate) fn write(&self, snapshot: &Snapshot) -> io::Result<PathBuf> {
        new_file::create_folders(&self.folder)?;
        // ORDERING: Relaxed: each number is given once, and publishes nothing.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // Windows takes no colons.
        let time = format!("{:.6}", snapshot.time()).replace(':', "-");
        let name = format!("{PREFIX}{time}-{}-{number}.{}", process::id(), self.format.extension());
        let path = self.folder.join(&name);
        let partial = self.folder.join(format!("{name}.{PARTIAL}"));
        let written = self.write_to(snapshot, &partial).and_then(|()| fs::rename(&partial, &path));
        if let Err(error) = written {
            let _may_not_exist = fs::remove_file(&partial);
            return Err(error);
        }
        self.tidy()?;
        Ok(path)
    }

    fn write_to(&self, snapshot: &Snapshot, path: &Path) -> io::Result<()> {
        let mut file = new_file::open_options().write(true).create_new(true).open(path)?;
        self.format.write(snapshot, &mut file)?;
        file.flush()
    }

    /// Deletes the oldest files, whose names are the first.
    fn tidy(&self) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            if is_dump(&name) {
                names.push(name);
            }
        }
        names.sort_unstable();
        for name in names.iter().rev().skip(self.most) {
            // Another process may have deleted it.
            let _gone = fs::remove_file(self.folder.join(name));
        }
        Ok(())
    }
}

/// Returns whether a file of that name is a dump, or the rest of one that was not finished.
fn is_dump(name: &OsStr) -> bool {
    let name = Path::new(name);
    let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX));
    let extension = name.extension().and_then(OsStr::to_str);
    is_ours && matches!(extension, Some("pftrace" | "otlp" | PARTIAL))
}
