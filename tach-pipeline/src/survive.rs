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
mod dead;
#[cfg(test)]
mod deaths;
mod foreign;
mod image;
mod items;
mod layout;
mod ledger;
mod mapping;
mod option;
mod own;
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

use self::dead::MOST_FILES;
use self::ledger::FileLedger;
use self::recovery::DeadFiles;
use self::store::Store;
use crate::back_end::survival::{Found, OwnFile};
use crate::sink::all::survival::Receiving;

/// Looks what became of the last writes of processes that have ended, and creates a file.
///
/// # Errors
///
/// If the folder can't be used.
pub(crate) fn open(folder: &Path, to: &mut [Receiving<'_>]) -> io::Result<Found> {
    let folder = Arc::new(PrivateFolder::make(folder)?);
    folder.check_mappable()?;
    let dead::Found { dead, skipped, lost } = dead::find(&folder, to)?;
    let lanes = items::named(to);
    let own = Store::new(&folder, &lanes).and_then(registered).map(|store| OwnFile {
        rings: Arc::<Store>::clone(&store),
        notes: Arc::<Store>::clone(&store),
        ledger: Box::new(FileLedger::new(&store)),
    });
    if let Ok(own) = &own {
        own.rings.dropped(lost);
    }
    let is_full = dead.len() >= MOST_FILES;
    Ok(Found { own, recovery: Box::new(DeadFiles::new(dead, lanes)), skipped, lost, is_full })
}

/// Adds the static texts that threads know to the file of a new pipeline.
fn registered(store: Arc<Store>) -> io::Result<Arc<Store>> {
    if texts::register(&store) {
        return Ok(store);
    }
    store.remove();
    Err(io::Error::other(
        "the static texts that another pipeline has logged need more than 192 KiB; build this \
         pipeline before that one logs",
    ))
}
