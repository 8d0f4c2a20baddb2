//! The file of a living pipeline.

mod commits;
mod recording;
mod rings;
mod statics;

use core::hash::{BuildHasher as _, Hasher as _};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::ffi::OsString;
use std::fs::Metadata;
use std::hash::RandomState;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use tach_core::{Instant, UnixTime};
use tach_files::PrivateFolder;
use tach_log::adapter::beginning;

use self::commits::Commits;
pub(super) use self::recording::Recording;
use self::rings::Room;
use super::layout::{FIXED, LANES, MAGIC, MOST_BYTES, VERSION, hash, head, lane, line};
use super::mapping::Mapping;
use super::owner::{self, Owned};
use tach_core::adapter::program_name;
use tach_record::sync::Lock;
use tach_sinks::adapter::Named;

/// The shortest time between two lines of the clock.
const BETWEEN_LINES: Duration = Duration::from_millis(50);

/// A mapped file with the rings of a pipeline, and with what a later process needs to pass on the
/// records in them.
pub(super) struct Store {
    memory: Arc<Mapping>,
    room: Lock<Room>,
    /// How many bytes of the heap for static values are used.
    heap: Lock<usize>,
    commits: Lock<Commits>,
    /// Whether the file system shows which blocks are reserved.
    has_blocks: bool,
    /// Whether another file has taken the place of this one.
    is_over: AtomicBool,
    name: OsString,
    folder: Arc<PrivateFolder>,
    owned: Owned,
}

#[cfg(test)]
impl Store {
    /// Creates the file of a pipeline with a log and a collector, in a folder of its own, whose
    /// path is returned too.
    pub(super) fn of_test(name: &str) -> (Arc<Self>, std::path::PathBuf) {
        let name = format!("tach-pipeline-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let folder = Arc::new(PrivateFolder::make(&path).unwrap());
        let named = ["app.log", "http"]
            .map(|name| Named { name: name.to_owned(), is_remote: name == "http" });
        let store = Self::new(&folder, &named).unwrap();
        assert!(super::texts::register(&store));
        (store, path)
    }

    /// Returns the store as the queues see it.
    pub(super) fn rings(self: &Arc<Self>) -> Arc<dyn tach_record::queue::file::RingFile> {
        let current = super::current::Current::new(&self.folder, &[]);
        current.store.store(Some(Arc::clone(self)));
        Arc::new(current)
    }
}

impl Store {
    /// Creates the file. Call under the lock of the folder.
    ///
    /// # Errors
    ///
    /// If there is no room.
    pub(super) fn new(folder: &Arc<PrivateFolder>, lanes: &[Named]) -> io::Result<Arc<Self>> {
        let id = RandomState::new().build_hasher().finish();
        let name = owner::name(std::process::id(), id);
        let owned = Owned::new(folder.create(&name)?);
        let made = owned.and_then(|owned| Self::in_file(folder, name.clone(), owned, lanes));
        if made.is_err() {
            let _already_an_error = folder.remove(&name);
        }
        made
    }

    fn in_file(
        folder: &Arc<PrivateFolder>,
        name: OsString,
        owned: Owned,
        lanes: &[Named],
    ) -> io::Result<Arc<Self>> {
        tach_files::reserve(owned.file(), 0, FIXED as u64)?;
        let memory = Mapping::new(owned.file(), MOST_BYTES)?;
        let has_blocks = 512 * owned.file().metadata()?.blocks() >= FIXED as u64;
        let program = program_name();
        let program = beginning(program, head::MOST_NAME).as_bytes();
        for (at, value) in [
            (head::VERSION, VERSION),
            (head::PROCESS, std::process::id().into()),
            (head::STARTED, UnixTime::now().as_nanos()),
            (head::NAME_LENGTH, program.len() as u64),
            (head::LANES, lanes.len().min(LANES) as u64),
            (head::RESERVED, if has_blocks { FIXED as u64 } else { 0 }),
        ] {
            memory.set(at, value);
        }
        memory.copy(head::NAME, program);
        for (number, Named { name, .. }) in lanes.iter().enumerate().take(LANES) {
            memory.set(lane::of(number) + lane::HASH, hash(name.as_bytes()));
        }
        let store = Arc::new(Self {
            memory: Arc::new(memory),
            room: Lock::new(Room::new(FIXED)),
            heap: Lock::new(0),
            commits: Lock::default(),
            has_blocks,
            is_over: AtomicBool::new(false),
            name,
            folder: Arc::clone(folder),
            owned,
        });
        store.line();
        let mut commits = store.commits.lock();
        for lane in lanes.iter().take(LANES) {
            commits.add(&store, lane.is_remote)?;
        }
        drop(commits);
        // Store this word last: until then, the file counts as empty.
        store.memory.publish(head::MAGIC, MAGIC);
        Ok(store)
    }

    /// Removes the file. Call after everything was written.
    pub(super) fn remove(&self) {
        self.memory.publish(head::TAKEN, u64::MAX);
        let _found_at_the_next_start = self.folder.remove(&self.name);
    }

    /// Returns whether somebody has deleted or cut the file, or its disk fails.
    pub(super) fn is_lost(&self) -> bool {
        self.is_cut() || self.owned.file().metadata().is_ok_and(|found| found.nlink() == 0)
    }

    /// Returns whether somebody has cut the file, or its disk fails.
    pub(super) fn is_cut(&self) -> bool {
        // Read the expected length before the actual one: the file may grow in between.
        let room = self.room.lock();
        let (length, was_cut) = (room.end as u64, room.is_cut);
        drop(room);
        let reserved = if self.has_blocks { length } else { 0 };
        let found = self.owned.file().metadata();
        let is_cut = found.is_ok_and(|found| is_cut(&found, length, reserved));
        was_cut || is_cut || self.memory.is_broken()
    }

    /// Reserves a part of the file, and returns its place.
    ///
    /// # Errors
    ///
    /// If there is no room.
    fn reserve(&self, room: &mut Room, length: usize) -> io::Result<usize> {
        let start = room.reserve(self.owned.file(), length)?;
        if self.has_blocks || room.is_cut {
            let reserved = if room.is_cut { u64::MAX } else { room.end as u64 };
            self.memory.set(head::RESERVED, reserved);
        }
        Ok(start)
    }

    /// Stores that another file takes the place of this one.
    pub(super) fn is_replaced(&self) {
        // ORDERING: Relaxed: a thread that sees the flag late changes to the new file later. Until
        // then, its records don't outlive a kill.
        self.is_over.store(true, Ordering::Relaxed);
        self.remove();
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
        let Ok(number) = usize::try_from(commits.lines % line::COUNT as u64) else { return };
        let words = [now, later].map(|at| [at.as_ticks(), at.unix_time().as_nanos()]);
        let start = line::AT + number * line::BYTES;
        for (at, word) in (start..).step_by(8).zip(words.as_flattened()) {
            self.memory.set(at, *word);
        }
        commits.lines += 1;
        self.memory.publish(head::LINES, commits.lines);
    }
}

/// Returns whether a file was cut: it is shorter than it should be, or was so for a while and lacks
/// some of the blocks that were `reserved`. `reserved` is zero if the file system does not show
/// blocks.
pub(super) fn is_cut(found: &Metadata, length: u64, reserved: u64) -> bool {
    found.len() < length || 512 * found.blocks() < reserved
}
