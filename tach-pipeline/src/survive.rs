//! Records that outlive the process, in a mapped file.
//!
//! The rings of a pipeline's queues are parts of a [file](store), as are the static texts whose
//! numbers the records contain, and the lines of the clock that convert their ticks. A store to
//! mapped memory is in the file at once: the kernel keeps it, however the process ends. When the
//! back end passes records on, it [commits](store::Store::commit) the formatted events and the
//! positions in the rings together, before it writes them to the sink.
//!
//! The next pipeline with the same folder [finds](dead) the files of processes that have ended,
//! [finishes](settle) the write during which a process ended, and [passes on](recovery) the records
//! that were still in its rings. Its own file says how far it has come.

mod dead;
#[cfg(test)]
mod deaths;
mod forks;
mod image;
mod layout;
mod mapping;
mod own;
mod per_process;
mod recovery;
mod settle;
mod spans;
mod store;
mod texts;

use std::io;
use std::path::Path;
use std::sync::Arc;

use tach_files::PrivateFolder;

pub(crate) use self::dead::{Receiving, Skipped};
pub(crate) use self::layout::LANES;
pub(crate) use self::recovery::{
    Doubtful, Events as Unwritten, Homeless, Next, RecordingFile, Recovery, Report,
};
pub(crate) use self::settle::{Receiver, Written, part_of};
pub(crate) use self::spans::Recording as RecordingLeft;
pub(crate) use self::spans::SpanLeft;
pub(crate) use self::store::{Events, Named, Progress, RingMemory, RingPart, Store, Target};
pub(crate) use self::store::{Recorded, Recording, WaitingSpans};
pub(crate) use self::texts::keep_callsite;
pub(crate) use self::texts::{keep_place, keep_text};

/// How many files of processes that have ended may be in a folder. A program that ends soon after
/// each start, before it has passed anything on, must not fill the memory.
pub(crate) const MOST_FILES: usize = 32;

/// Whether a value is in the files of all pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    Yes,
    /// A file has no room for it. Records must contain the value itself.
    Full,
    /// Another thread writes a value now.
    Busy,
}

/// A pipeline's own file, and those of processes that have ended.
pub(crate) struct Opened {
    /// An error if the files of processes that have ended take all the room.
    pub(crate) store: io::Result<Arc<Store>>,
    pub(crate) recovery: Recovery,
    pub(crate) skipped: Vec<Skipped>,
}

/// Finishes the last writes of processes that have ended, and creates a file. A sink that
/// `is_alone` has no thread.
///
/// # Errors
///
/// If the folder can't be used, or has no room.
pub(crate) fn open(folder: &Path, to: &mut [Receiving<'_>], is_alone: bool) -> io::Result<Opened> {
    let folder = Arc::new(PrivateFolder::make(folder)?);
    folder.check_mappable()?;
    let dead::Found { dead, skipped, waiting } = dead::find(&folder, to)?;
    let lanes: Vec<_> = to.iter().map(|to| to.named.clone()).collect();
    let made = if dead.len() + skipped.len() + waiting < MOST_FILES {
        Store::new(&folder, &lanes, is_alone)
    } else {
        let why = format!("{MOST_FILES} files are there, so this process creates none");
        Err(io::Error::new(io::ErrorKind::StorageFull, why))
    };
    let store = match made {
        // The files that are there take the room. A program that could not start would not pass
        // them on.
        Err(why) if why.kind() == io::ErrorKind::StorageFull && dead.len() + waiting > 0 => {
            Err(why)
        }
        made => Ok(made?),
    };
    Ok(Opened { store, recovery: Recovery::new(dead, lanes), skipped })
}
