//! The file of a living pipeline.

mod commits;
mod recording;
mod rings;
mod statics;

use core::hash::{BuildHasher as _, Hasher as _};
use core::sync::atomic::AtomicU64;
use core::time::Duration;
use std::ffi::OsString;
use std::fs::File;
use std::hash::RandomState;
use std::io;
use std::sync::Arc;

use tach_core::{Instant, UnixTime};
use tach_files::PrivateFolder;
use tach_log::adapter::beginning;

use self::commits::Commits;
pub(super) use self::commits::{Progress, Recorded};
pub(super) use self::recording::{Kept, Recording};
use self::rings::Room;
use super::items::{Named, hash};
use super::layout::{FIXED, LANES, MAGIC, VERSION, head, lane, line};
use super::mapping::Mapping;
use super::own::{self, Own};
use crate::host::program;
use crate::sync::Lock;

/// The most attempts to create a file that no other process takes for one of a dead process.
const TRIES: usize = 8;
/// The shortest time between two lines of the clock.
const BETWEEN_LINES: Duration = Duration::from_millis(50);

/// A mapped file with the rings of a pipeline, and with what a later process needs to pass on the
/// records in them.
pub(super) struct Store {
    file: File,
    fixed: Mapping,
    room: Lock<Room>,
    /// How many bytes of the heap are used.
    heap: Lock<usize>,
    queues: AtomicU64,
    commits: Lock<Commits>,
    /// After the mappings and the file, so that it is dropped later.
    end: End,
}

/// The end of a file.
struct End {
    name: OsString,
    folder: Arc<PrivateFolder>,
    /// After the file is closed, and removed.
    _own: Own,
}

/// A file that was just created.
struct Created {
    id: u64,
    name: OsString,
    file: File,
    /// After the file, so that it is dropped later.
    own: Own,
}

#[cfg(test)]
impl Store {
    /// Creates the file of a pipeline with a log and a collector, in a folder of its own, whose
    /// path is returned too.
    pub(super) fn of_test(name: &str) -> (Arc<Self>, std::path::PathBuf) {
        let name = format!("tach-pipeline-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let folder = Arc::new(PrivateFolder::make(&path).unwrap());
        let named = ["app.log", "http"].map(|name| {
            let (name, is_remote) = (name.to_owned(), name == "http");
            Named { name, is_file: !is_remote, is_remote }
        });
        (super::registered(Self::new(&folder, &named).unwrap()).unwrap(), path)
    }

    /// Returns the store as the queues see it.
    pub(super) fn rings(self: &Arc<Self>) -> Arc<dyn crate::queue::file::RingFile> {
        Arc::<Self>::clone(self)
    }
}

impl Store {
    /// Creates the file.
    ///
    /// # Errors
    ///
    /// If there is no room, or the file system has no locks.
    pub(super) fn new(folder: &Arc<PrivateFolder>, lanes: &[Named]) -> io::Result<Arc<Self>> {
        let created = create(folder)?;
        let name = created.name.clone();
        let made = Self::in_file(folder, created, lanes);
        if made.is_err() {
            let _already_an_error = folder.remove(&name);
        }
        made
    }

    fn in_file(
        folder: &Arc<PrivateFolder>,
        created: Created,
        lanes: &[Named],
    ) -> io::Result<Arc<Self>> {
        // The first one is dropped last.
        let Created { own, id, name, file } = created;
        tach_files::reserve(&file, 0, FIXED as u64)?;
        let fixed = Mapping::new(&file, 0, FIXED)?;
        let program = program::name();
        let program = beginning(program, head::MOST_NAME).as_bytes();
        for (at, value) in [
            (head::VERSION, VERSION),
            (head::ID, id),
            (head::PROCESS, std::process::id().into()),
            (head::STARTED, UnixTime::now().as_nanos()),
            (head::NAME_LENGTH, program.len() as u64),
        ] {
            fixed.set(at, value);
        }
        fixed.copy(head::NAME, program);
        for (number, Named { name, is_file, .. }) in lanes.iter().enumerate().take(LANES) {
            let at = lane::of(number);
            fixed.set(at + lane::IS_FILE, u64::from(*is_file));
            fixed.set(at + lane::HASH, hash(name.as_bytes()));
        }
        let store = Arc::new(Self {
            file,
            fixed,
            room: Lock::new(Room::new(FIXED as u64)),
            heap: Lock::new(0),
            queues: AtomicU64::new(0),
            commits: Lock::new(Commits::new()),
            end: End { name, folder: Arc::clone(folder), _own: own },
        });
        store.line();
        let mut commits = store.commits.lock();
        for lane in lanes.iter().take(LANES) {
            commits.add(&store, lane.is_remote)?;
        }
        commits.publish(&store);
        drop(commits);
        // Before this word is stored, the file is empty for others.
        store.fixed.publish(head::MAGIC, MAGIC);
        Ok(store)
    }

    /// Removes the file. Call after everything was written.
    pub(super) fn remove(&self) {
        self.fixed.publish(head::TAKEN, u64::MAX);
        let _found_at_the_next_start = self.end.folder.remove(&self.end.name);
    }

    /// Stores the present line of the clock, if the last one is old.
    pub(super) fn line(&self) {
        let mut commits = self.commits.lock();
        let now = Instant::now();
        let is_old = |last: Instant| now.saturating_duration_since(last) >= BETWEEN_LINES;
        if !commits.last_line.is_none_or(is_old) {
            return;
        }
        let Some(later) = now.checked_add(Duration::from_secs(1)) else { return };
        commits.last_line = Some(now);
        let Ok(at) = usize::try_from(commits.lines % line::COUNT as u64) else { return };
        let at = line::AT + at * line::BYTES;
        for (word, value) in [
            now.as_ticks(),
            now.unix_time().as_nanos(),
            later.as_ticks(),
            later.unix_time().as_nanos(),
        ]
        .into_iter()
        .enumerate()
        {
            self.fixed.set(at + 8 * word, value);
        }
        commits.lines += 1;
        self.fixed.publish(head::LINES, commits.lines);
    }
}

/// Creates a file with a lock.
fn create(folder: &PrivateFolder) -> io::Result<Created> {
    for _ in 0..TRIES {
        let id = RandomState::new().build_hasher().finish();
        let Some(own) = own::add(id) else { continue };
        let name = own::name(std::process::id(), id);
        // Another process may take the lock of an empty file, and remove the file.
        if let Some(file) = folder.create(&name)? {
            return Ok(Created { id, name, file, own });
        }
    }
    Err(io::Error::other("other processes remove each file at once"))
}
