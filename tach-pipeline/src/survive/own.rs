//! The files that this process uses: its own, and those of dead processes while it reads them.
//!
//! A process is never refused its own lock, and loses it when it closes the file a second time. So
//! it must know its files by their names.

use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::{io, thread};

use super::per_process::PerProcess;
use crate::sync::Lock;

const FIRST: &str = "tach-";
const LAST: &str = ".rings";

/// The number of each file, and what uses it.
static OWN: PerProcess<Lock<Vec<(u64, Use)>>> = PerProcess::new();

/// What uses a file in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// A pipeline that writes it, or passes its records on.
    Pipeline,
    /// A program that shows its records or removes it.
    Reader,
}

/// A file that this process uses. Drop it after the file was closed: closing the file ends the
/// lock, also one that another thread has taken meanwhile. The fields are the number of the process
/// and the number of the file.
#[derive(Debug)]
pub(super) struct Own(u32, u64);

/// Returns the name of a file.
pub(super) fn name(process: u32, id: u64) -> OsString {
    format!("{FIRST}{process}-{id:016x}{LAST}").into()
}

/// Returns the number of a file with such a name.
pub(super) fn id_of(name: &OsStr) -> Option<u64> {
    let (process, id) = name.to_str()?.strip_prefix(FIRST)?.strip_suffix(LAST)?.split_once('-')?;
    let _process: u32 = process.parse().ok()?;
    (id.len() == 16).then(|| u64::from_str_radix(id, 16).ok())?
}

/// Notes that this process uses a file.
///
/// # Errors
///
/// If this process uses the file already, returns for what.
pub(super) fn add(id: u64, by: Use) -> Result<Own, Use> {
    let own = OWN.get();
    let mut own = own.value.lock();
    if let Some((_, by)) = own.iter().find(|(file, _)| *file == id) {
        return Err(*by);
    }
    own.push((id, by));
    Ok(Own(std::process::id(), id))
}

/// Like [`add`] for a pipeline, and waits a moment for another thread that reads the file.
///
/// # Errors
///
/// If this process uses the file already, returns for what.
pub(super) fn add_soon(id: u64) -> Result<Own, Use> {
    const TRIES: u32 = 20;
    for _ in 1..TRIES {
        match add(id, Use::Pipeline) {
            Err(Use::Reader) => thread::sleep(Duration::from_millis(1)),
            added => return added,
        }
    }
    add(id, Use::Pipeline)
}

#[cfg(test)]
pub(super) fn has(id: u64) -> bool {
    OWN.get().value.lock().iter().any(|(file, _)| *file == id)
}

impl Use {
    /// Returns why a file can't be opened a second time.
    pub(super) fn error(self) -> io::Error {
        let by = match self {
            Self::Pipeline => "a pipeline of this process uses the file",
            Self::Reader => "this process reads the file at the moment",
        };
        io::Error::new(io::ErrorKind::ResourceBusy, by)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let Self(process, id) = *self;
        // A forked child has no lock of the file, unless the child took one for itself.
        if process == std::process::id() {
            OWN.get().value.lock().retain(|(file, _)| *file != id);
        }
    }
}
