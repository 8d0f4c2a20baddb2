//! Records that outlive the process, in a mapped file.
//!
//! The rings of a pipeline's queues are parts of a [file](store), as are the static texts whose
//! numbers the records contain, and the lines of the clock that convert their ticks. A store to
//! mapped memory is in the file at once: the kernel keeps it, however the process ends. A record
//! stays in its ring until all sinks have written it. Then the back end
//! [commits](store::Store::commit) the positions behind it.
//!
//! The next pipeline with the same folder [finds](dead) the files of processes that have ended, looks
//! whether the [last write](written) of a process has happened, and [passes on](recovery) the
//! records that were still in its rings. Each file says how far a later process has come.

mod contents;
mod current;
mod dead;
#[cfg(test)]
mod deaths;
mod faults;
mod foreign;
mod image;
mod items;
mod layout;
mod mapping;
mod option;
mod owner;
mod per_process;
mod recorded_span;
mod recorder;
mod recovery;
mod reports;
mod set_aside;
mod store;
mod texts;
mod written;

use std::io;
use std::path::Path;
use std::sync::Arc;

use tach_files::PrivateFolder;

use self::current::{Current, FileLedger};
use self::dead::MOST_FILES;
use self::recovery::DeadFiles;
use crate::back_end::survival::Found;
use crate::queue::file::RingFile as _;
use crate::sink::all::survival::Receiving;

/// Looks what became of the last writes of processes that have ended, and creates a file.
///
/// # Errors
///
/// If the folder can't be used.
pub(crate) fn open(folder: &Path, to: &mut [Receiving<'_>]) -> io::Result<Found> {
    let folder = Arc::new(PrivateFolder::make(folder)?);
    let lock = folder.lock();
    // Another process has the lock for long, if it was stopped. Its files wait for a later start.
    let found = lock.as_ref().map(|_| dead::find(&folder, to)).transpose()?;
    let dead::Found { dead, surplus, mut skipped } = found.unwrap_or_default();
    let lanes = items::named(to);
    let current = Arc::new(Current::new(&folder, &lanes));
    let mut opened = current.open();
    let lost = surplus.iter().map(|(_, lost)| *lost).fold(0, u64::saturating_add);
    // The count is in a file before the records are in none.
    current.dropped(lost);
    for (dead, lost) in surplus {
        let why = dead.remove().err().unwrap_or_else(|| {
            let why =
                format!("its {lost} records are dropped, since {MOST_FILES} files are younger");
            io::Error::new(io::ErrorKind::StorageFull, why)
        });
        skipped.push(dead.skipped(why));
    }
    if opened.is_err() {
        // There may be room now.
        opened = current.open();
    }
    lock.iter().for_each(tach_files::unlock);
    let is_full = dead.len() >= MOST_FILES;
    Ok(Found {
        fault: opened.err(),
        ledger: Box::new(FileLedger::new(&current)),
        notes: Arc::<Current>::clone(&current),
        rings: current,
        recovery: Box::new(DeadFiles::new(dead, lanes)),
        skipped,
        lost,
        is_full,
    })
}
