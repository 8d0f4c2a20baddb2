//! The file of a living pipeline, and another one in its place if somebody has deleted or cut it, or
//! when there is room for one again.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwapOption;
use tach_files::PrivateFolder;

use super::items::Named;
use super::recorder;
use super::store::Store;
use super::texts;
use crate::back_end::assembly::Spans;
use crate::back_end::survival::{Ledger, Progress};
use crate::queue::file::RingFile;
use crate::queue::ring::RingMemory;
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
    pub(super) store: Arc<ArcSwapOption<Store>>,
    queues: AtomicU64,
    /// How many records the queues have dropped, and how many were over the rate limit.
    dropped: AtomicU64,
    refused: AtomicU64,
}

impl Current {
    pub(super) fn new(folder: &Arc<PrivateFolder>, lanes: &[Named]) -> Self {
        Self {
            folder: Arc::clone(folder),
            lanes: lanes.to_vec(),
            store: Arc::default(),
            queues: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            refused: AtomicU64::new(0),
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
        // ORDERING: Relaxed: only the counts count.
        store.add_lost([&self.dropped, &self.refused].map(|it| it.load(Ordering::Relaxed)));
        self.store.store(Some(store));
        Ok(())
    }

    fn with<R: Default>(&self, f: impl FnOnce(&Arc<Store>) -> R) -> R {
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
        self.dropped.fetch_add(count, Ordering::Relaxed);
        self.with(|store| store.add_lost([count, 0]));
    }

    fn refused(&self) {
        // ORDERING: Relaxed, as above.
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.with(|store| store.add_lost([0, 1]));
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

/// What the back end notes in the file.
pub(super) struct FileLedger {
    current: Arc<Current>,
    looked: Instant,
    tried: Instant,
}

impl FileLedger {
    pub(super) fn new(current: &Arc<Current>) -> Self {
        let now = Instant::now();
        Self { current: Arc::clone(current), looked: now, tried: now }
    }
}

impl Ledger for FileLedger {
    fn attach(&mut self, spans: &mut Spans) {
        if let Some(recorder) = &mut spans.recorder {
            recorder::attach(recorder, &self.current.store);
        }
    }

    fn renew(&mut self) -> io::Result<bool> {
        let Self { current, looked, tried } = self;
        if looked.elapsed() < BETWEEN_LOOKS {
            return Ok(false);
        }
        *looked = Instant::now();
        let store = current.store.load_full();
        let is_due = store.as_ref().map_or(tried.elapsed() >= BETWEEN_TRIES, |it| it.is_lost());
        if !is_due {
            return Ok(false);
        }
        *tried = *looked;
        current.store.store(None);
        let Some(store) = store else {
            // What was said when there was no room goes on.
            return Ok(current.open().is_ok());
        };
        store.is_replaced();
        current.open()?;
        let why = "somebody has deleted or cut the file, or its disk fails; another one follows";
        Err(io::Error::other(why))
    }

    fn prepare(&mut self, progress: &Progress, is_alone: bool) {
        self.current.with(|store| {
            store.line();
            if is_alone {
                store.prepare(progress);
            }
        });
    }

    fn commit(&mut self, progress: &Progress) {
        self.current.with(|store| store.commit(progress));
    }

    fn remove(&self) {
        self.current.with(|store| store.remove());
    }
}
