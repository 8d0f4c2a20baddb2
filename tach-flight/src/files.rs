//! Writes dumps to files. Bounds the number of files, and how often a file is written.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process;
use std::time::Instant;

use tach_core::UnixTime;
use tach_files::{Access, Entry, Folder};
use tach_sinks::adapter::FILE_MODE;

use crate::format::FlightFormat;
use crate::snapshot::Snapshot;
use tach_core::adapter::program_name;
use tach_record::sync::Lock;

/// The form of the time in a file's name. A zero stands for any digit.
const TIME: &str = "0000-00-00T00-00-00.000000Z";
/// The ends of the names of finished files.
const EXTENSIONS: [&str; 2] = [".json", ".otlp"];
/// The end of the name of a file that is being written.
const PARTIAL: &str = ".partial";

/// The pause after a file that could not be written, unless the pause that the options set is
/// shorter.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// If an unfinished file was not written to for this long, its process has ended, and the file may
/// be deleted.
const ABANDONED: Duration = Duration::from_secs(60);

/// Why a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A thread has panicked.
    Panic,
    /// A span took long.
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

/// The folder of dumps.
pub struct Files {
    folder: Folder,
    format: FlightFormat,
    most: usize,
    pause: Duration,
    /// For each cause, the beginning and the length of the last pause.
    pauses: Lock<[Option<(Instant, Duration)>; 2]>,
    next: AtomicU64,
}

impl Files {
    pub(crate) fn new(folder: Folder, format: FlightFormat, most: usize, pause: Duration) -> Self {
        let (pauses, next) = (Lock::default(), AtomicU64::new(0));
        Self { folder, format, most, pause, pauses, next }
    }

    /// Returns the folder of dumps. Creates the folder if it was deleted.
    ///
    /// # Errors
    ///
    /// If that fails, or if the folder is shared, where the process must not delete files.
    fn folder(&self) -> io::Result<Folder> {
        let folder = self.folder.again()?;
        folder.refuse_if_shared()?;
        Ok(folder)
    }

    /// Checks that files can be written. Creates the folder if it is missing, and creates and
    /// removes a file there.
    ///
    /// # Errors
    ///
    /// If that fails. Then no dump could be written to the folder later.
    pub(crate) fn probe(&self) -> io::Result<()> {
        let folder = self.folder()?;
        let mut name = self.name(UnixTime::now(), process::id().into(), 0);
        name.push(PARTIAL);
        let own = Entry::of(&folder.create_new(&name, &Access::at_most(FILE_MODE))?)?;
        folder.remove_own(&name, &own)
    }

    /// Returns the name of a file that is written at `time`.
    fn name(&self, time: UnixTime, process: u64, number: u64) -> OsString {
        // Windows forbids colons in names.
        let time = format!("{time:.6}").replace(':', "-");
        let (prefix, extension) = (prefix(), self.format.extension);
        OsString::from(format!("{prefix}{time}-{process}-{number}.{extension}"))
    }

    /// Returns whether a file may be written now for a cause. If so, begins the next pause.
    pub fn begin(&self, cause: Cause) -> bool {
        let pause = &mut self.pauses.lock()[cause as usize];
        let is_due = pause.is_none_or(|(since, pause)| since.elapsed() >= pause);
        if is_due {
            *pause = Some((Instant::now(), self.pause));
        }
        is_due
    }

    /// Shortens the pause that began for a cause. Call if the file for that cause could not be
    /// written.
    pub fn failed(&self, cause: Cause) {
        let pause = self.pause.min(PAUSE_AFTER_FAILURE);
        self.pauses.lock()[cause as usize] = Some((Instant::now(), pause));
    }

    /// Writes a file and returns its path. If there are too many files then, deletes the oldest
    /// files.
    ///
    /// # Errors
    ///
    /// If the folder can't be created, or the file can't be written.
    pub fn write(&self, snapshot: &Snapshot) -> io::Result<PathBuf> {
        // ORDERING: Relaxed: each number is returned once, and publishes nothing.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.write_as(snapshot, process::id().into(), number)
    }

    /// Writes the file of a process that has ended. The number in its name is this process's id:
    /// another process may have been killed while it wrote the file with its own id.
    ///
    /// # Errors
    ///
    /// See [`write`](Self::write).
    pub(crate) fn write_of(&self, snapshot: &Snapshot, of: u64) -> io::Result<PathBuf> {
        self.write_as(snapshot, of, process::id().into())
    }

    fn write_as(&self, snapshot: &Snapshot, process: u64, number: u64) -> io::Result<PathBuf> {
        let folder = self.folder()?;
        let name = self.name(snapshot.time(), process, number);
        let mut partial = name.clone();
        partial.push(PARTIAL);
        let file = folder.create_new(&partial, &Access::at_most(FILE_MODE))?;
        // `tidy` compares the owners of older files with the owner of this file.
        let own = Entry::of(&file)?;
        let written = self.write_to(snapshot, file).and_then(|()| folder.rename(&partial, &name));
        if let Err(error) = written {
            let _stays = folder.remove_own(&partial, &own);
            return Err(error);
        }
        // Ignore a failure: the file exists, although its name may not survive a loss of power
        // yet.
        let _not_yet_on_disk = folder.sync();
        let _others_stay = self.tidy(&folder, &name, &own);
        Ok(folder.path().join(&name))
    }

    fn write_to(&self, snapshot: &Snapshot, mut file: File) -> io::Result<()> {
        self.format.write(snapshot, &mut file)?;
        file.sync_all()
    }

    /// Deletes the oldest files if there are too many, and files that were never finished. Never
    /// deletes `newest`, even if its name sorts before others since the clock was set back.
    fn tidy(&self, folder: &Folder, newest: &OsStr, own: &Entry) -> io::Result<()> {
        let mut finished = Vec::new();
        for name in folder.names()? {
            let Some(entry) = folder.entry(&name)?.filter(|entry| folder.is_own(entry, own)) else {
                continue;
            };
            match Dump::of(&name) {
                Some(Dump::Finished) if name != newest => finished.push(name),
                Some(Dump::Partial) if is_abandoned(&entry) => folder.remove_own(&name, own)?,
                _ => {}
            }
        }
        // The names sort by time, so the oldest files come first.
        finished.sort_unstable();
        let surplus = finished.iter().rev().skip(self.most - 1);
        surplus.rev().try_for_each(|name| folder.remove_own(name, own))
    }
}

/// Returns the beginning of the names of this program's dumps.
fn prefix() -> String {
    format!("flight-{}-", program_name())
}

/// The state of a dump's file, read from its name.
#[derive(Debug, PartialEq, Eq)]
enum Dump {
    Finished,
    /// The file is being written, or its process ended before the file was finished.
    Partial,
}

impl Dump {
    /// Returns `None` if the file is not a dump, or a dump of another program.
    fn of(name: &OsStr) -> Option<Self> {
        let name = name.to_str()?.strip_prefix(&prefix())?;
        let (name, kind) = match name.strip_suffix(PARTIAL) {
            Some(name) => (name, Self::Partial),
            None => (name, Self::Finished),
        };
        let name = EXTENSIONS.iter().find_map(|extension| name.strip_suffix(extension))?;
        let (time, numbers) = name.split_at_checked(TIME.len())?;
        let is_time = time.bytes().zip(TIME.bytes()).all(|(byte, kind)| match kind {
            b'0' => byte.is_ascii_digit(),
            _ => byte == kind,
        });
        let (process, number) = numbers.strip_prefix('-')?.split_once('-')?;
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (is_time && is_number(process) && is_number(number)).then_some(kind)
    }
}

/// Returns whether no process writes the unfinished file any more. Its process may have ended
/// before the file was finished.
fn is_abandoned(file: &Entry) -> bool {
    let since = file.modified().and_then(|written| written.elapsed().ok());
    since.is_some_and(|since| since >= ABANDONED)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_pause_is_short_after_a_failure_alone() {
        let format =
            FlightFormat { extension: "none", write: Arc::new(|_, _| Ok(())), ignored: Vec::new() };
        let folder = Folder::open(&tach_files::resolve(".".as_ref()).unwrap()).unwrap();
        let files = Files::new(folder, format, 1, Duration::MAX);
        let after = |time: Duration| {
            for (since, _) in files.pauses.lock().iter_mut().flatten() {
                *since = since.checked_sub(time).unwrap();
            }
            files.begin(Cause::SlowSpan)
        };
        assert!(files.begin(Cause::SlowSpan));
        assert!(files.begin(Cause::Panic), "the causes have pauses of their own");
        assert!(!after(2 * PAUSE_AFTER_FAILURE));
        files.failed(Cause::SlowSpan);
        assert!(after(PAUSE_AFTER_FAILURE));
        assert!(!after(2 * PAUSE_AFTER_FAILURE));
    }

    #[test]
    fn a_dump_has_exactly_such_a_name() {
        let program = program_name();
        let of = |end: &str| Dump::of(format!("flight-{program}-{end}").as_ref());
        let name = "2026-11-23T14-30-00.123456Z-4711-0";
        assert_eq!(of(&format!("{name}.json")), Some(Dump::Finished));
        assert_eq!(of(&format!("{name}.otlp")), Some(Dump::Finished));
        assert_eq!(of(&format!("{name}.otlp.partial")), Some(Dump::Partial));
        for end in [
            "a1.otlp",
            "incident-42.json",
            "2026-11-23T14-30-00.123456Z.json",
            "2026-11-23T14-30-00.123456Z-4711.json",
            "2026-11-23T14-30-00.123456Z-4711-.json",
            "2026-11-23T14-30-00.123456Z-4711-0-1.json",
            "2026-11-23T14-30-00.123456Z-4711-0.json.txt",
            "2026-11-23T14-30-00.123456Z-4711-0.partial",
            "2026-11-23T14-30-00.12345xZ-4711-0.otlp",
            "x2026-11-23T14-30-00.123456Z-4711-0.otlp",
            "",
        ] {
            assert_eq!(of(end), None, "{end}");
        }
        assert_eq!(Dump::of(format!("flight-{name}.otlp").as_ref()), None);
        assert_eq!(Dump::of(format!("flight-other-{name}.otlp").as_ref()), None);
    }
}
