//! The file of a living pipeline, and another one in its place if somebody has deleted or cut it,
//! or when there is room for one again.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwapOption;
use tach_files::PrivateFolder;

use super::items::Named;
use super::store::Store;
use super::texts;
use tach_record::queue::file::RingFile;
use tach_record::queue::ring::RingMemory;
use tach_sinks::adapter::Notes;
use tach_sinks::adapter::Target;

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
    /// How many records calls have lost.
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

    /// Creates a file, with the static texts that threads know.
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
        // ORDERING: Relaxed: only the count counts.
        store.add_lost(self.lost.load(Ordering::Relaxed));
        self.store.store(Some(store));
        Ok(())
    }

    /// Looks now and then whether the file is of use, and begins another one if it is not. Returns
    /// whether there is another one, or none any more. `looked` is when the last look was, and
    /// `tried` when a file was last created.
    ///
    /// # Errors
    ///
    /// If the file was of no use, or there is still none: if nobody was told before.
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
        *tried = *looked;
        self.store.store(None);
        let Some(store) = store else {
            // What was said when there was no room goes on.
            return Ok(self.open().is_ok());
        };
        store.is_replaced();
        self.open()?;
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

    fn new_queue(&self) -> u64 {
        // ORDERING: Relaxed: only the number counts.
        self.queues.fetch_add(1, Ordering::Relaxed)
    }

    fn dropped(&self, count: u64) {
        // ORDERING: Relaxed: only the count counts.
        self.lost.fetch_add(count, Ordering::Relaxed);
        self.with(|store| store.add_lost(count));
    }

    fn exits(&self) {
        self.with(|store| store.exits());
    }
}

impl Notes for Current {
    fn gathers(&self, lane: usize, bytes: &[u8], ends: &[usize], came: u64) {
        self.with(|store| store.gathers(lane, bytes, ends, came));
    }

    fn has(&self, lane: usize) -> [u64; 2] {
        self.with(|store| store.has(lane))
    }

    fn takes(&self, lane: usize) {
        self.with(|store| store.takes(lane));
    }

    fn sent(&self, lane: usize) {
        self.with(|store| store.sent(lane));
    }

    fn writes(&self, lane: usize, bytes: &[u8], is_last: bool, to: Target) {
        self.with(|store| store.writes(lane, bytes, is_last, to));
    }
}
