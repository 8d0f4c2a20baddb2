//! Compresses and deletes old files, on a separate thread.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tach_core::UnixTime;
use tach_files::{Entry, Folder, Place};

use super::Rotation;
use super::job::Job;
use super::names::Old;
use crate::os::HAS_IDENTITIES;

/// Starts the thread that compresses and deletes old files.
pub type Spawn = fn(&str, Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>;

/// An old file of the log.
struct OldFile {
    name: OsString,
    old: Old,
    entry: Entry,
    /// Whether it is still to be compressed.
    is_due: bool,
}

/// The control of the thread. The thread is started when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Tidying {
    last: Option<JoinHandle<()>>,
    state: Shared,
}

/// The state that the thread shares with the log.
#[derive(Debug, Clone, Default)]
struct Shared(Arc<Mutex<State>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Ignore poisoning: each statement that changes the state leaves it consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct State {
    is_at_work: bool,
    /// The last rotation that happened while the thread was at work.
    late: Option<Job>,
    /// The file that is being written, which must be neither compressed nor deleted. Its name does
    /// not show that: if a rotation could not open a new file, it has the name of an old file.
    open: Option<Entry>,
    /// The first failure since the outcome was last taken.
    failure: Option<io::Error>,
    /// Whether the thread has ended a run since the outcome was last taken.
    has_ended: bool,
}

impl State {
    fn failed(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
    }
}

impl Tidying {
    /// Makes the thread spare `open`, the file that is written from now on.
    pub(crate) fn writes(&self, open: Entry) {
        self.state.lock().open = Some(open);
    }

    /// Begins to compress and delete the old files of the log at `place`. If the thread is already
    /// at work, it starts over when it is done.
    ///
    /// # Errors
    ///
    /// If the thread can't be started.
    pub(crate) fn begin(
        &mut self,
        place: Place,
        rotation: Rotation,
        log: Entry,
        now: UnixTime,
        spawn: Spawn,
    ) -> io::Result<()> {
        if !rotation.tidies() {
            return Ok(());
        }
        let job = Job { place, rotation, log, now };
        self.writes(log);
        {
            let mut state = self.state.lock();
            if state.is_at_work {
                state.late = Some(job);
                return Ok(());
            }
            state.is_at_work = true;
        }
        let work = Work { state: self.state.clone(), is_done: false };
        let tidy = move || work.tidy(job);
        self.last = Some(spawn("tach-tidy", Box::new(tidy))?);
        Ok(())
    }

    /// Takes the outcome of the work, if it has ended since the last call.
    pub(crate) fn outcome(&self) -> Option<io::Result<()>> {
        // Without a thread there is no outcome, and no need for the lock.
        self.last.as_ref()?;
        let mut state = self.state.lock();
        let has_ended = core::mem::take(&mut state.has_ended);
        has_ended.then(|| state.failure.take().map_or(Ok(()), Err))
    }
}

impl Drop for Tidying {
    /// Waits until the thread is done.
    fn drop(&mut self) {
        let _too_late_to_report = self.last.take().map(JoinHandle::join);
    }
}

/// The thread's work. Even if it ends with a panic, another thread can be started afterwards.
struct Work {
    state: Shared,
    is_done: bool,
}

impl Work {
    fn tidy(mut self, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            let result = tidy(&job, &self.state);
            let mut state = self.state.lock();
            if let Err(error) = result {
                state.failed(error);
            }
            next = state.late.take();
            self.is_done = next.is_none();
            state.is_at_work = next.is_some();
            state.has_ended = true;
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if !self.is_done {
            let mut state = self.state.lock();
            (state.is_at_work, state.has_ended) = (false, true);
            state.failed(io::Error::other("the thread that compresses old files panicked"));
        }
    }
}

/// Deletes the oldest files beyond the limits, and compresses the files that stay. Reads the folder
/// again after each file, since the log may be rotated meanwhile.
fn tidy(job: &Job, state: &Shared) -> io::Result<()> {
    let folder = job.place.folder()?;
    folder.refuse_if_shared()?;
    // Try each file only once: if a file system still shows a compressed file as it was before, the
    // loop would not end.
    let mut tried = Vec::new();
    let next = |tried: &[_]| job.rotation.alone(&folder, || delete_old(&folder, job, state, tried));
    while let Some(name) = next(&tried)? {
        // A failure at one file, which another user may cause, must not keep the other files from
        // being compressed.
        #[cfg(feature = "gzip")]
        if let Err(error) = super::gzip::compress(&folder, &name, job) {
            state.lock().failed(error);
        }
        tried.push(name);
    }
    // Otherwise a power loss could bring back the names of files that were renamed or deleted.
    folder.sync()
}

/// Deletes the oldest files beyond the limits. Returns the youngest file that is still to be
/// compressed and is not in `tried`.
fn delete_old(
    folder: &Folder,
    job: &Job,
    state: &Shared,
    tried: &[OsString],
) -> io::Result<Option<OsString>> {
    let mut files = old_files(folder, job, state)?;
    let Rotation { compresses, delays, .. } = job.rotation;
    let count = files.len().saturating_sub(usize::from(delays));
    for file in &mut files[..count] {
        file.is_due = compresses && !file.old.is_compressed && !tried.contains(&file.name);
    }
    let beyond = beyond(&files, job);
    for OldFile { name, .. } in files.drain(..beyond) {
        folder.remove_own(&name, &job.log)?;
    }
    Ok(files.into_iter().rfind(|file| file.is_due).map(|file| file.name))
}

/// Returns how many of the oldest files are beyond one of the limits. A file that is still to be
/// compressed counts as empty, since its compressed length is not known. The limit of bytes keeps
/// the youngest file.
fn beyond(files: &[OldFile], job: &Job) -> usize {
    let Rotation { keep, keep_bytes, keep_for, .. } = job.rotation;
    let by_count = files.len().saturating_sub(keep);
    let by_bytes = keep_bytes.map_or(0, |most| {
        let mut sum = 0_u64;
        let fits = |file: &&OldFile| {
            sum = sum.saturating_add(if file.is_due { 0 } else { file.entry.length() });
            sum <= most
        };
        let kept = files.iter().rev().take_while(fits).count();
        files.len().saturating_sub(kept.max(1))
    });
    let by_age = keep_for.and_then(|age| job.now.checked_sub(age)).map_or(0, |since| {
        let rotated = |file: &OldFile| file.entry.modified().map(UnixTime::from_system_time);
        files.iter().take_while(|file| rotated(file).is_some_and(|it| it < since)).count()
    });
    by_count.max(by_bytes).max(by_age)
}

/// Returns the log's old files, the oldest first. Leaves out files of other users, links, files
/// with other names, and the file that is being written.
fn old_files(folder: &Folder, job: &Job, state: &Shared) -> io::Result<Vec<OldFile>> {
    let is_own = |entry: &Entry| {
        let is_open = state.lock().open.is_some_and(|open| !open.is_other(entry));
        folder.is_own(entry, &job.log) && (!HAS_IDENTITIES || !is_open)
    };
    let mut files = Vec::new();
    for name in folder.names()? {
        let Some(old) = job.read(&name) else {
            if job.is_part(&name) {
                remove_left(folder, &name, job)?;
            }
            continue;
        };
        match folder.entry(&name) {
            Ok(found) => {
                let found = found.filter(is_own);
                files.extend(found.map(|entry| OldFile { name, old, entry, is_due: false }));
            }
            // Report the error and continue: this file must not keep the others from being deleted.
            Err(error) => state.lock().failed(error),
        }
    }
    // Sort by time: names with different offsets do not sort by their texts.
    files.sort_unstable_by(|one, other| {
        (one.old.rank, &one.name).cmp(&(other.old.rank, &other.name))
    });
    Ok(files)
}

/// Deletes an incomplete file that a process left when it ended while it compressed. A process at
/// work has a lock on its file.
fn remove_left(folder: &Folder, part: &OsStr, job: &Job) -> io::Result<()> {
    let is_left = folder.open_own(part, &job.log).is_ok_and(|file| tach_files::try_lock(&file));
    if is_left { folder.remove_own(part, &job.log) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::io::Write as _;
    use std::path::PathBuf;
    use std::{env, fs, process};

    use super::super::names::Names;
    use super::*;

    impl Shared {
        fn new(state: State) -> Self {
            Self(Arc::new(Mutex::new(state)))
        }
    }

    /// A folder with empty old files of logs.
    struct Logs(PathBuf);

    impl Logs {
        fn new(name: &str) -> Self {
            let folder = env::temp_dir().join(format!("tach-sinks-{name}-{}", process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn job(&self, name: &str, rotation: Rotation) -> Job {
            let path = self.0.join(name);
            let log = Entry::of(&fs::File::create(&path).unwrap()).unwrap();
            fs::remove_file(&path).unwrap();
            Job { place: Place::of(&path).unwrap(), rotation, log, now: UnixTime::now() }
        }

        fn add(&self, name: &OsStr) {
            fs::write(self.0.join(name), "").unwrap();
        }

        fn names(&self) -> Vec<OsString> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Logs {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn old(name: &str, hour: u8) -> OsString {
        format!("{name}.20261123T{hour:02}0000.000000Z").into()
    }

    #[test]
    fn a_rotation_that_comes_late_is_tidied_by_the_same_thread() {
        let logs = Logs::new("tidy");
        for name in ["a", "b"] {
            (0..3).for_each(|hour| logs.add(&old(name, hour)));
        }
        let part = old("a", 0).into_string().unwrap() + ".gz.part";
        logs.add(part.as_ref());
        let [first, late] = ["a", "b"].map(|name| logs.job(name, Rotation::new().keep(1)));
        let state = Shared::new(State { is_at_work: true, late: Some(late), ..State::default() });
        let work = Work { state: state.clone(), is_done: false };
        work.tidy(first);
        assert!(state.lock().failure.is_none());
        assert_eq!(logs.names(), [old("a", 2), old("b", 2)]);
        assert!(!state.lock().is_at_work && state.lock().late.is_none());
    }

    #[test]
    fn old_files_beyond_the_bytes_or_the_age_are_deleted() {
        let logs = Logs::new("tidy-limits");
        let new = || Rotation::new().daily();
        let hours = |hours: u64| Duration::from_secs(hours * 60 * 60);
        let cases = [
            (new().keep_bytes(30), 3),
            (new().keep_bytes(29), 2),
            (new().keep_bytes(9), 1),
            (new().keep_bytes(0), 1),
            (new().keep_bytes(1_000).keep(4), 4),
            (new().keep_bytes(1_000).keep(1), 1),
            (new().keep_for(hours(3)), 3),
            (new().keep_for(hours(3)).keep(1), 1),
            (new().keep_for(hours(1_000_000)), 5),
            (new().keep_for(Duration::MAX), 5),
            (new().keep_for(hours(3)).names(Names::Numbers), 3),
        ];
        // Ages count by the pipeline's clock, which may differ from the system's.
        let now = UnixTime::EPOCH + hours(24 * 365);
        for (rotation, left) in cases {
            // Rotated one to five hours ago.
            let name = |hour: u8| match rotation.names {
                Names::Numbers => format!("log.{}", 5 - hour).into(),
                _ => old("log", hour),
            };
            for hour in 0..5 {
                let mut file = fs::File::create(logs.0.join(name(hour))).unwrap();
                file.write_all(&[0; 10]).unwrap();
                file.set_modified((now - hours(u64::from(5 - hour))).into()).unwrap();
            }
            let job = Job { now, ..logs.job("log", rotation) };
            let folder = job.place.folder().unwrap();
            delete_old(&folder, &job, &Shared::default(), &[]).unwrap();
            let mut kept: Vec<_> = (5 - left..5).map(name).collect();
            kept.sort();
            assert_eq!(logs.names(), kept, "{rotation:?}");
            for name in kept {
                fs::remove_file(logs.0.join(name)).unwrap();
            }
        }
    }

    #[test]
    fn work_that_never_began_is_no_longer_waited_for() {
        let state = Shared::new(State { is_at_work: true, ..State::default() });
        drop(Work { state: state.clone(), is_done: false });
        assert!(!state.lock().is_at_work && state.lock().failure.is_some());
    }

    #[cfg(feature = "gzip")]
    mod gzipped {
        use super::super::super::gzip::{compress, replace};
        use super::super::super::names::compressed;
        use super::*;

        #[test]
        fn files_that_come_while_others_are_compressed_count() {
            let logs = Logs::new("tidy-gzip");
            let job = logs.job("log", Rotation::new().keep(2).gzip());
            let folder = job.place.folder().unwrap();
            let state = Shared::default();
            let next = || delete_old(&folder, &job, &state, &[]).unwrap();
            let compress = |name: &OsStr| {
                compress(&folder, name, &job).unwrap();
            };
            let old = |hour| old("log", hour);
            (0..4).for_each(|hour| logs.add(&old(hour)));
            assert_eq!(next(), Some(old(3)));
            assert_eq!(logs.names(), [old(2), old(3)]);
            compress(&old(3));
            logs.add(&old(4));
            assert_eq!(next(), Some(old(4)));
            assert_eq!(logs.names(), [compressed(&old(3)), old(4)]);
            compress(&old(4));
            assert_eq!((next(), logs.names().len()), (None, 2));
            // The open file is kept: it is still being written, since no new file could be opened.
            logs.add(&old(5));
            state.lock().open = folder.entry(&old(5)).unwrap();
            assert_eq!((next(), logs.names().len()), (None, 3));
            state.lock().open = None;
            assert_eq!((next(), logs.names().len()), (Some(old(5)), 2));
        }

        /// A rotation gives a file the next number while the thread compresses it, and another
        /// process compresses the file that has the former number now.
        #[test]
        fn a_file_whose_number_changes_is_compressed_once() {
            let logs = Logs::new("tidy-shifted");
            let rotation = Rotation::new().daily().names(Names::Numbers).gzip();
            let job = logs.job("log", rotation);
            let folder = job.place.folder().unwrap();
            let write = |name: &str, text: &str| fs::write(logs.0.join(name), text).unwrap();
            for is_taken in [false, true] {
                write("log.1", "old");
                let file = fs::File::open(logs.0.join("log.1")).unwrap();
                let opened = Entry::of(&file).unwrap();
                write("log.1.gz.part", "copy");
                let copy = folder.entry("log.1.gz.part".as_ref()).unwrap().unwrap();
                write("log", "new");
                let log = folder.entry("log".as_ref()).unwrap().unwrap();
                rotation.rename(&folder, "log".as_ref(), &log, job.now).unwrap();
                if is_taken {
                    // Create the new file while the copy exists, so that it gets another file id.
                    write("other.part", "half");
                    fs::rename(logs.0.join("other.part"), logs.0.join("log.1.gz.part")).unwrap();
                }
                let old = (&file, &opened, "log.1".as_ref());
                replace(&folder, old, 3, &(copy, "log.1.gz.part".into()), &job).unwrap();
                let read = |name: &str| fs::read_to_string(logs.0.join(name)).unwrap();
                if is_taken {
                    assert_eq!(logs.names(), ["log.1", "log.1.gz.part", "log.2"]);
                    assert_eq!(read("log.2"), "old");
                } else {
                    assert_eq!(logs.names(), ["log.1", "log.2.gz"]);
                    assert_eq!(read("log.2.gz"), "copy");
                }
                assert_eq!(read("log.1"), "new");
                for name in logs.names() {
                    fs::remove_file(logs.0.join(name)).unwrap();
                }
            }
        }

        #[test]
        fn the_youngest_file_is_compressed_last_if_that_is_delayed() {
            let logs = Logs::new("tidy-delayed");
            let job = logs.job("log", Rotation::new().keep(3).delay_gzip());
            (0..4).for_each(|hour| logs.add(&old("log", hour)));
            tidy(&job, &Shared::default()).unwrap();
            let gzip = |hour| compressed(&old("log", hour));
            assert_eq!(logs.names(), [gzip(1), gzip(2), old("log", 3)]);
        }

        #[test]
        fn the_bytes_are_those_of_compressed_files() {
            let logs = Logs::new("tidy-compressed-bytes");
            let job = logs.job("log", Rotation::new().daily().keep_bytes(1_000).gzip());
            (0..3).for_each(|hour| fs::write(logs.0.join(old("log", hour)), [0; 10_000]).unwrap());
            tidy(&job, &Shared::default()).unwrap();
            let expected: Vec<_> = (0..3).map(|hour| compressed(&old("log", hour))).collect();
            assert_eq!(logs.names(), expected);
        }
    }
}
