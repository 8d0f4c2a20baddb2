//! The files of dumps: few, and not too often.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::FlightFormat;
use super::snapshot::Snapshot;
use crate::sink::new_file;

/// The beginning of the files' names.
const PREFIX: &str = "flight-";
/// The end of the name of a file that is being written.
const PARTIAL: &str = "partial";

/// How long after a failure no other file is begun, unless the pause is shorter.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long a file that is not finished was not written to if its process has ended.
const ABANDONED: Duration = Duration::from_secs(60);

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
    /// The pauses that began last, by cause: since when, and how long.
    pauses: Mutex<[Option<(Instant, Duration)>; 2]>,
    next: AtomicU64,
}

impl Files {
    pub(super) fn new(folder: PathBuf, format: FlightFormat, most: usize, pause: Duration) -> Self {
        let (pauses, next) = (Mutex::default(), AtomicU64::new(0));
        Self { folder, format, most, pause, pauses, next }
    }

    /// Returns whether a file may be written for this cause, and begins the pause if so.
    pub(crate) fn begin(&self, cause: Cause) -> bool {
        let pause = &mut self.pauses()[cause as usize];
        let is_due = pause.is_none_or(|(since, pause)| since.elapsed() >= pause);
        if is_due {
            *pause = Some((Instant::now(), self.pause));
        }
        is_due
    }

    /// Ends the pause early, since the file that was begun for this cause could not be written.
    pub(crate) fn failed(&self, cause: Cause) {
        let pause = self.pause.min(PAUSE_AFTER_FAILURE);
        self.pauses()[cause as usize] = Some((Instant::now(), pause));
    }

    fn pauses(&self) -> MutexGuard<'_, [Option<(Instant, Duration)>; 2]> {
        // No code panics while it is held.
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.tidy(OsStr::new(&name));
        Ok(path)
    }

    fn write_to(&self, snapshot: &Snapshot, path: &Path) -> io::Result<()> {
        let mut file = new_file::open_options().write(true).create_new(true).open(path)?;
        self.format.write(snapshot, &mut file)?;
        file.flush()
    }

    /// Deletes the oldest files beyond the bound, and files that were never finished. Keeps the
    /// file `newest`, which may not have the last name: the clock may have been set back.
    fn tidy(&self, newest: &OsStr) {
        // If the folder can't be read, the new file is there nevertheless.
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut finished = Vec::new();
        for entry in entries {
            let name = entry.file_name();
            match Dump::of(&name) {
                Some(Dump::Finished) if name != newest => finished.push(name),
                Some(Dump::Partial) if is_abandoned(&entry) => self.delete(&name),
                _ => {}
            }
        }
        // The oldest have the first names.
        finished.sort_unstable();
        for name in finished.iter().rev().skip(self.most - 1) {
            self.delete(name);
        }
    }

    fn delete(&self, name: &OsStr) {
        // Another process may have deleted it.
        let _gone = fs::remove_file(self.folder.join(name));
    }
}

/// A dump's file, by its name.
enum Dump {
    Finished,
    /// It is being written, or its process ended meanwhile.
    Partial,
}

impl Dump {
    /// Returns `None` for a file of something else.
    fn of(name: &OsStr) -> Option<Self> {
        let name = Path::new(name);
        if !name.to_str()?.starts_with(PREFIX) {
            return None;
        }
        match name.extension()?.to_str()? {
            "pftrace" | "otlp" => Some(Self::Finished),
            PARTIAL => Some(Self::Partial),
            _ => None,
        }
    }
}

/// Returns whether nobody writes the file any more: a process that ended may have begun it.
fn is_abandoned(file: &DirEntry) -> bool {
    let written = file.metadata().and_then(|file| file.modified());
    let since = written.ok().and_then(|written| written.elapsed().ok());
    since.is_some_and(|since| since >= ABANDONED)
}
