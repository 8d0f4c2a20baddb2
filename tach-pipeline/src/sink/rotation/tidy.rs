//! Compresses and deletes old files, on a separate thread.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tach_core::UnixTime;
use tach_files::{Entry, Folder, Place};

use super::Rotation;
use super::names::{compressed, is_compressed, part, time_of};
use crate::host;
use crate::sync::Lock;

/// The old files of one log.
struct Job {
    place: Place,
    rotation: Rotation,
    /// The log itself. Old files must belong to the same owner.
    log: Entry,
}

/// The control of the thread. The thread is started when it is first needed.
#[derive(Default)]
pub(in crate::sink) struct Tidying {
    last: Option<JoinHandle<()>>,
    state: Arc<Lock<State>>,
}

#[derive(Default)]
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
    pub(in crate::sink) fn writes(&self, open: Entry) {
        self.state.lock().open = Some(open);
    }

    /// Begins to compress and delete the old files of the log at `place`. If the thread is already
    /// at work, it starts over when it is done.
    ///
    /// # Errors
    ///
    /// If the thread can't be started.
    pub(in crate::sink) fn begin(
        &mut self,
        place: Place,
        rotation: Rotation,
        log: Entry,
    ) -> io::Result<()> {
        if !rotation.tidies() {
            return Ok(());
        }
        let job = Job { place, rotation, log };
        self.writes(log);
        {
            let mut state = self.state.lock();
            if state.is_at_work {
                state.late = Some(job);
                return Ok(());
            }
            state.is_at_work = true;
        }
        let work = Work { state: Arc::clone(&self.state), is_done: false };
        let tidy = move || work.tidy(job);
        self.last = Some(host::spawn("tach-tidy", tidy)?);
        Ok(())
    }

    /// Takes the outcome of the work, if it has ended since the last call.
    pub(in crate::sink) fn outcome(&self) -> Option<io::Result<()>> {
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
    state: Arc<Lock<State>>,
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

/// Deletes all old files but the youngest, and compresses the files that stay. Reads the folder
/// again after each file, since the log may be rotated meanwhile.
fn tidy(job: &Job, state: &Lock<State>) -> io::Result<()> {
    let folder = job.place.folder()?;
    folder.refuse_if_shared()?;
    // Each file is tried once, even if a file system shows it unchanged afterwards.
    let mut tried = Vec::new();
    while let Some(name) = delete_old(&folder, job, state, &tried)? {
        // A failure at one file, which another user may cause, must not keep the other files from
        // being compressed.
        if let Err(error) = compress(&folder, &name, &job.log) {
            state.lock().failed(error);
        }
        tried.push(name);
    }
    // Sync the names of files that were renamed or deleted.
    folder.sync()
}

/// Deletes all old files but the youngest. Returns the youngest file that is still to be compressed
/// and is not in `tried`.
fn delete_old(
    folder: &Folder,
    job: &Job,
    state: &Lock<State>,
    tried: &[OsString],
) -> io::Result<Option<OsString>> {
    let mut files = old_files(folder, job, state)?;
    let is_due =
        |name: &OsString| job.rotation.compresses && !is_compressed(name) && !tried.contains(name);
    let beyond = beyond(&files, is_due, job);
    for (name, _) in files.drain(..beyond) {
        folder.remove_own(&name, &job.log)?;
        // An incomplete file, left by a process that ended while it compressed this one.
        folder.remove_own(&part(&compressed(&name)), &job.log)?;
    }
    Ok(files.into_iter().map(|(name, _)| name).rfind(is_due))
}

/// Returns how many of the oldest files are beyond one of the limits. A file that is still to be
/// compressed counts as empty, since its length afterwards is not known. The limit of bytes keeps
/// the youngest file.
fn beyond(files: &[(OsString, u64)], is_due: impl Fn(&OsString) -> bool, job: &Job) -> usize {
    let Rotation { keep, keep_bytes, keep_for, .. } = job.rotation;
    let by_count = files.len().saturating_sub(keep);
    let by_bytes = keep_bytes.map_or(0, |most| {
        let mut sum = 0_u64;
        let fits = |(name, length): &&(OsString, u64)| {
            sum = sum.saturating_add(if is_due(name) { 0 } else { *length });
            sum <= most
        };
        let kept = files.iter().rev().take_while(fits).count();
        files.len().saturating_sub(kept.max(1))
    });
    let by_age = keep_for.and_then(|age| UnixTime::now().checked_sub(age)).map_or(0, |since| {
        files.partition_point(|(name, _)| time_of(name, job.place.name()) < Some(since))
    });
    by_count.max(by_bytes).max(by_age)
}

/// Returns the names of the log's old files with their lengths, the oldest first. Leaves out files
/// of other users, links, files with other names, and the file that is being written.
fn old_files(folder: &Folder, job: &Job, state: &Lock<State>) -> io::Result<Vec<(OsString, u64)>> {
    let is_old = |entry: &Entry| {
        let is_open = state.lock().open.is_some_and(|open| !open.is_other(entry));
        folder.is_own(entry, &job.log) && (cfg!(not(unix)) || !is_open)
    };
    let log = job.place.name();
    let mut files = Vec::new();
    for name in folder.names()? {
        if time_of(&name, log).is_none() {
            continue;
        }
        match folder.entry(&name) {
            Ok(found) => files.extend(found.filter(is_old).map(|entry| (name, entry.length()))),
            // The other files must not wait for this one.
            Err(error) => state.lock().failed(error),
        }
    }
    // By time, since names with different offsets do not sort by their texts.
    files.sort_by_cached_key(|(name, _)| (time_of(name, log), name.clone()));
    Ok(files)
}

/// Never called: without the feature no method turns compression on.
#[cfg(not(feature = "gzip"))]
fn compress(_: &Folder, _: &OsStr, _: &Entry) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Replaces a file by a compressed copy. Leaves a file that another process writes or compresses:
/// the last process that writes it compresses it.
#[cfg(feature = "gzip")]
fn compress(folder: &Folder, name: &OsStr, log: &Entry) -> io::Result<()> {
    use std::path::Path;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tach_files::Access;

    let done = compressed(name);
    let part = part(&done);
    let mut file = match folder.open_own(name, log) {
        // Another process was first.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    if !tach_files::try_lock(&file) {
        return Ok(());
    }
    let opened = Entry::of(&file)?;
    if folder.entry(name)?.is_none_or(|found| found.is_other(&opened)) {
        // Another process compressed the file between the opening and the lock.
        return Ok(());
    }
    let access = Access::of(&opened);
    // An incomplete file, left by a process that ended while it compressed.
    folder.remove_own(&part, log)?;
    let mut to = GzEncoder::new(folder.create_new(&part, &access)?, Compression::default());
    let copied = io::copy(&mut file, &mut to)?;
    let to = to.finish()?;
    to.sync_all()?;
    let copy = Entry::of(&to)?;
    drop(to);
    if folder.entry(&done)?.is_some_and(|found| !folder.is_own(&found, log)) {
        folder.remove_own(&part, log)?;
        let name = Path::new(&done).display();
        return Err(io::Error::other(format!("{name} is no file of this process alone")));
    }
    match folder.rename(&part, &done) {
        // Another process deleted the oldest files, and this one is among them.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        renamed => renamed?,
    }
    folder.sync()?;
    // These can only differ for programs, and on file systems, without locks.
    let is_longer = file.metadata()?.len() != copied;
    let is_other = |name: &OsStr, entry: &Entry| {
        folder.entry(name).map(|found| found.is_none_or(|found| found.is_other(entry)))
    };
    if is_other(name, &opened)? || is_other(&done, &copy)? {
        return Ok(());
    }
    if is_longer {
        folder.remove_own(&done, log)?;
        return Ok(());
    }
    folder.remove_own(name, log)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::path::PathBuf;
    use std::{env, fs, process};

    use super::*;

    /// A folder with empty old files of logs.
    struct Logs(PathBuf);

    impl Logs {
        fn new(name: &str) -> Self {
            let folder = env::temp_dir().join(format!("tach-pipeline-{name}-{}", process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn job(&self, name: &str, rotation: Rotation) -> Job {
            let path = self.0.join(name);
            let log = Entry::of(&fs::File::create(&path).unwrap()).unwrap();
            fs::remove_file(&path).unwrap();
            Job { place: Place::of(&path).unwrap(), rotation, log }
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
        logs.add(&part(&compressed(&old("a", 0))));
        let [first, late] = ["a", "b"].map(|name| logs.job(name, Rotation::new().keep(1)));
        let state =
            Arc::new(Lock::new(State { is_at_work: true, late: Some(late), ..State::default() }));
        let work = Work { state: Arc::clone(&state), is_done: false };
        work.tidy(first);
        assert!(state.lock().failure.is_none());
        assert_eq!(logs.names(), [old("a", 2), old("b", 2)]);
        assert!(!state.lock().is_at_work && state.lock().late.is_none());
    }

    #[cfg(feature = "gzip")]
    #[test]
    fn files_that_come_while_others_are_compressed_count() {
        let logs = Logs::new("tidy-gzip");
        let job = logs.job("log", Rotation::new().keep(2).gzip());
        let folder = job.place.folder().unwrap();
        let state = Lock::default();
        let next = || delete_old(&folder, &job, &state, &[]).unwrap();
        let compress = |name: &OsStr| {
            compress(&folder, name, &job.log).unwrap();
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
        // A file that is still being written, since no new file could be opened.
        logs.add(&old(5));
        state.lock().open = folder.entry(&old(5)).unwrap();
        assert_eq!((next(), logs.names().len()), (None, 3));
        state.lock().open = None;
        assert_eq!((next(), logs.names().len()), (Some(old(5)), 2));
    }

    #[test]
    fn old_files_beyond_the_bytes_or_the_age_are_deleted() {
        let logs = Logs::new("tidy-limits");
        let new = || Rotation::new().daily();
        let hours = |hours: u64| Duration::from_secs(hours * 60 * 60);
        let age = |hour| UnixTime::now() - (UnixTime::EPOCH + hours(hour));
        // Hours since 1970, as `old` names them.
        let since = |hour: u64| age(24 * 20_780 + hour);
        let name = old("log", 0);
        let name = name.to_str().unwrap();
        assert!(name.contains("20261123T00"), "{name}");
        let cases = [
            (new().keep_bytes(30), 3),
            (new().keep_bytes(29), 2),
            (new().keep_bytes(9), 1),
            (new().keep_bytes(0), 1),
            (new().keep_bytes(1_000).keep(4), 4),
            (new().keep_bytes(1_000).keep(1), 1),
            (new().keep_for(since(2) + Duration::from_secs(60)), 3),
            (new().keep_for(since(2)).keep(1), 1),
            (new().keep_for(hours(1_000_000)), 5),
            (new().keep_for(Duration::MAX), 5),
        ];
        for (rotation, left) in cases {
            (0..5).for_each(|hour| fs::write(logs.0.join(old("log", hour)), [0; 10]).unwrap());
            let job = logs.job("log", rotation);
            let folder = job.place.folder().unwrap();
            delete_old(&folder, &job, &Lock::default(), &[]).unwrap();
            let kept: Vec<_> = (5 - left..5).map(|hour| old("log", hour)).collect();
            assert_eq!(logs.names(), kept, "{rotation:?}");
        }
    }

    #[cfg(feature = "gzip")]
    #[test]
    fn the_bytes_are_those_of_compressed_files() {
        let logs = Logs::new("tidy-compressed-bytes");
        let job = logs.job("log", Rotation::new().daily().keep_bytes(1_000).gzip());
        (0..3).for_each(|hour| fs::write(logs.0.join(old("log", hour)), [0; 10_000]).unwrap());
        tidy(&job, &Lock::default()).unwrap();
        let expected: Vec<_> = (0..3).map(|hour| compressed(&old("log", hour))).collect();
        assert_eq!(logs.names(), expected);
    }

    #[test]
    fn work_that_never_began_is_no_longer_waited_for() {
        let state = Arc::new(Lock::new(State { is_at_work: true, ..State::default() }));
        drop(Work { state: Arc::clone(&state), is_done: false });
        assert!(!state.lock().is_at_work && state.lock().failure.is_some());
    }
}
