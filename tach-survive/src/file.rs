//! Records that outlive the process, in a mapped file.
//!
//! The rings of a pipeline's queues are parts of a [file](store), as are the static texts whose
//! numbers the records contain, and the lines of the clock that convert their ticks. A store to
//! mapped memory is in the file at once: the kernel keeps it, however the process ends. A record
//! stays in its ring until all sinks have written it. Then the back end frees it there.
//!
//! The next pipeline with the same folder [finds](dead) the files of processes that have ended, cuts
//! off a log the half of a line that the [last write](written) left, and [passes on](recovery) the
//! records that were still in the rings. Each file says how far a later process has come.

mod contents;
mod current;
mod dead;
mod image;
mod items;
mod keeper;
mod layout;
mod mapping;
mod owner;
mod recorder;
mod recovery;
mod reports;
mod set_aside;
mod sigbus;
mod store;
mod texts;
#[cfg(any(test, feature = "watched"))]
pub mod watched;
mod written;

use core::time::Duration;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tach_files::PrivateFolder;
use tach_record::keep::{Fault, OnFault};
use tach_record::queue::file::RingFile as _;
use tach_sinks::adapter::OpenSink;

use self::current::Current;
use self::dead::MOST_FILES;
use self::keeper::FileKeeper;
use crate::Parts;

/// How long a start waits for the lock of the folder.
const LONGEST_LOCKED: Duration = Duration::from_secs(1);

/// Removes from the logs the halves of lines that processes left which have ended, and creates a
/// file. Returns the file as the queues and the sinks see it, and the keeper of the records.
///
/// # Errors
///
/// If the folder can't be used.
pub fn open(folder: &Path, to: &mut [OpenSink<'_>], report: Box<OnFault>) -> io::Result<Parts> {
    let folder = Arc::new(PrivateFolder::make(folder)?);
    let lock = folder.lock(LONGEST_LOCKED);
    // If another process holds the lock for long, it was stopped. Then leave the dead files for a
    // later start. Our own file can be created without the lock, since nobody looks for dead files
    // now.
    let found = lock.as_ref().map(|_| dead::find(&folder, to)).transpose()?;
    let dead::Found { dead, surplus, mut skipped } = found.unwrap_or_default();
    let lanes: Vec<_> = to.iter().map(|(named, _)| named.clone()).collect();
    let current = Arc::new(Current::new(&folder, &lanes));
    let mut opened = current.open();
    let lost = surplus.iter().map(|(_, lost)| *lost).fold(0, u64::saturating_add);
    // Store the count before the surplus files are removed: if this process is killed in between,
    // the records still count as lost.
    current.dropped(lost);
    for (name, lost) in surplus {
        let why = format!("its {lost} records are dropped, since {MOST_FILES} files are younger");
        let removed = dead::give_up(&folder, &name);
        skipped.push((name, removed.err().unwrap_or_else(|| io::Error::other(why))));
    }
    if opened.is_err() {
        // The removal may have made room, so try again.
        opened = current.open();
    }
    lock.iter().for_each(tach_files::unlock);
    for (name, why) in skipped {
        report(&Fault::NotRecovered(&name, &why));
    }
    if let Err(error) = opened {
        report(&Fault::NotKept(&error));
    }
    let keeper = FileKeeper::new(&current, (dead, lanes), lost, report);
    Ok((Arc::<Current>::clone(&current), current, Box::new(keeper)))
}
