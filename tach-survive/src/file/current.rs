//! The file of a living pipeline. If somebody deletes or cuts the file, another one takes its place
//! as soon as there is room.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering, fence};
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwapOption;
use tach_files::PrivateFolder;

use super::store::Store;
use super::texts;
use tach_record::queue::file::RingFile;
use tach_record::queue::ring::RingMemory;
use tach_sinks::adapter::{Named, Notes, Target};

/// How often a pipeline looks whether its file is still there.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// How long a pipeline without a file waits before it tries again to create one.
const BETWEEN_TRIES: Duration = Duration::from_secs(5);

/// The file, if there is one now.
pub(super) struct Current {
    folder: Arc<PrivateFolder>,
    lanes: Vec<Named>,
    pub(super) store: ArcSwapOption<Store>,
    queues: AtomicU64,
    /// How many records calls have dropped. Each file contains the count, so a new file takes it
    /// over.
    lost: AtomicU64,
}

impl Current {
    pub(super) fn new(folder: &Arc<PrivateFolder>, lanes: &[Named]) -> Self {
        Self {
            folder: Arc::clone(folder),
            lanes: lanes.to_vec(),
            store: ArcSwapOption::default(),
            queues: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// Creates a file, with the static texts that threads know. Call under the lock of the folder.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub(super) fn open(&self) -> io::Result<()> {
        let store = Store::new(&self.folder, &self.lanes)?;
        if !texts::register(&store) {
            store.remove();
            return Err(io::Error::other(
                "the static texts that another pipeline has logged need more than 192 KiB; build \
                 this pipeline before that one logs",
            ));
        }
        self.store.store(Some(Arc::clone(&store)));
        // ORDERING: SeqCst, with the one in `dropped`: either that call finds the new file, or its
        // count is read here. The orderings of arc-swap alone promise neither.
        fence(Ordering::SeqCst);
        // ORDERING: Relaxed: the fence above orders it.
        store.raise_lost(self.lost.load(Ordering::Relaxed));
        Ok(())
    }

    /// If the last look is `BETWEEN_LOOKS` ago, checks that the file is still whole, and begins
    /// another one if not. Returns whether another file has begun, or the last one is gone.
    /// `looked` is the time of the last look, and `tried` when a file was last created.
    ///
    /// # Errors
    ///
    /// If the file was deleted or cut, or none can be created. Each outage is reported once.
    pub(super) fn renew(&self, [looked, tried]: &mut [Instant; 2]) -> io::Result<bool> {
        if looked.elapsed() < BETWEEN_LOOKS {
            return Ok(false);
        }
        *looked = Instant::now();
        let store = self.store.load_full();
        let is_due = store.as_ref().map_or(tried.elapsed() >= BETWEEN_TRIES, |it| it.is_lost());
        if !is_due {
            return Ok(false);
        }
        if let Some(store) = &store {
            self.store.store(None);
            store.is_replaced();
        }
        // Without the lock, another process that looks for dead files could take the new file,
        // which is still empty, for a dead one and remove it.
        let lock = self.folder.lock(Duration::ZERO);
        let opened = lock.map_or(Ok(false), |lock| {
            *tried = *looked;
            let opened = self.open().map(|()| true);
            tach_files::unlock(&lock);
            opened
        });
        if store.is_none() {
            // The loss of the last file was already reported. Another error for the same outage
            // would add nothing.
            return Ok(opened.unwrap_or(false));
        }
        opened?;
        let why = "somebody has deleted or cut the file, or its disk fails; another one follows";
        Err(io::Error::other(why))
    }

    pub(super) fn with<R: Default>(&self, f: impl FnOnce(&Arc<Store>) -> R) -> R {
        self.store.load().as_ref().map(f).unwrap_or_default()
    }
}

impl RingFile for Current {
    fn ring(&self, length: usize) -> Option<RingMemory> {
        self.with(|store| store.ring(length))
    }

    fn has_ring(&self, length: usize) -> bool {
        self.with(|store| Some(store.has_ring(length))).unwrap_or(true)
    }

    fn has_no_room(&self) {
        self.with(|store| store.has_no_room());
    }

    fn new_queue(&self) -> u64 {
        // ORDERING: Relaxed: only the number counts.
        self.queues.fetch_add(1, Ordering::Relaxed)
    }

    fn dropped(&self, count: u64) {
        // ORDERING: Relaxed: the fence below orders it.
        let lost = self.lost.fetch_add(count, Ordering::Relaxed) + count;
        // ORDERING: SeqCst, with the one in `open`, which stores the file first: either this call
        // finds the file, or `open` reads the count.
        fence(Ordering::SeqCst);
        self.with(|store| store.raise_lost(lost));
    }

    fn exits(&self) {
        self.with(|store| store.exits());
    }
}

impl Notes for Current {
    fn gathers(&self, lane: usize, bytes: &[u8], ends: &[usize], came: u64) {
        self.with(|store| store.gathers(lane, bytes, ends, came));
    }

    fn has(&self, lane: usize) -> Range<u64> {
        self.with(|store| store.has(lane))
    }

    fn takes(&self, lane: usize) {
        self.with(|store| store.takes(lane));
    }

    fn sent(&self, lane: usize) {
        self.with(|store| store.sent(lane));
    }

    fn writes(&self, lane: usize, length: usize, to: Target) {
        self.with(|store| store.writes(lane, length, to));
    }
}

#[cfg(test)]
mod tests {
    use core::hint::black_box;
    use core::sync::atomic::AtomicBool;
    use std::{env, fs, process, thread};

    use super::*;
    use crate::file::image::{Image, tests::file};

    /// The process that holds the lock would remove a file in which nothing is written yet.
    #[test]
    fn no_file_takes_the_place_of_another_under_a_lock() {
        let path = env::temp_dir().join(format!("tach-current-lock-{}", process::id()));
        let folder = Arc::new(PrivateFolder::make(&path).unwrap());
        let current = Current::new(&folder, &[]);
        current.open().unwrap();
        let files = || folder.names().unwrap().len();
        let lock = PrivateFolder::make(&path).unwrap().lock(Duration::ZERO).unwrap();
        current.with(|store| store.remove());
        let long_ago = Instant::now().checked_sub(BETWEEN_TRIES).unwrap();
        assert!(current.renew(&mut [long_ago; 2]).unwrap_err().to_string().contains("deleted"));
        assert!(!current.renew(&mut [long_ago; 2]).unwrap());
        assert_eq!(files(), 0);
        tach_files::unlock(&lock);
        assert!(current.renew(&mut [long_ago; 2]).unwrap());
        assert_eq!(files(), 1);
        fs::remove_dir_all(path).unwrap();
    }

    /// Calls lose records while another file takes the place of the one before.
    #[test]
    fn each_lost_record_is_counted_once_in_the_file() {
        let path = env::temp_dir().join(format!("tach-current-{}", process::id()));
        let folder = Arc::new(PrivateFolder::make(&path).unwrap());
        for _ in 0..10 {
            let (current, is_over) = (Current::new(&folder, &[]), AtomicBool::new(false));
            thread::scope(|scope| {
                scope.spawn(|| {
                    // ORDERING: Relaxed: publishes nothing.
                    while !is_over.load(Ordering::Relaxed) {
                        (0..100).for_each(|_| current.dropped(black_box(1)));
                    }
                });
                for _ in 0..3 {
                    current.with(|store| store.is_replaced());
                    current.open().unwrap();
                }
                // ORDERING: Relaxed: publishes nothing.
                is_over.store(true, Ordering::Relaxed);
            });
            let lost = Image::read(&file(&path)).unwrap().lost();
            assert_eq!(lost, current.lost.load(Ordering::SeqCst));
            current.with(|store| store.remove());
        }
        fs::remove_dir_all(path).unwrap();
    }
}
