//! The files that this process uses: its own, and those of dead processes whose records it passes
//! on.
//!
//! A process is never refused its own lock, and loses it when it closes the file a second time. So
//! it must know its files by their names.

use std::ffi::{OsStr, OsString};

use super::per_process::PerProcess;
use crate::sync::Lock;

const FIRST: &str = "tach-";
const LAST: &str = ".rings";

/// The number of each file.
static OWN: PerProcess<Lock<Vec<u64>>> = PerProcess::new();

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

/// Notes that this process uses a file. Returns `None` if a pipeline of it does so already.
pub(super) fn add(id: u64) -> Option<Own> {
    let own = OWN.get();
    let mut own = own.value.lock();
    if own.contains(&id) {
        return None;
    }
    own.push(id);
    Some(Own(std::process::id(), id))
}

#[cfg(test)]
pub(super) fn has(id: u64) -> bool {
    OWN.get().value.lock().contains(&id)
}

impl Drop for Own {
    fn drop(&mut self) {
        let Self(process, id) = *self;
        // A forked child has no lock of the file, unless the child took one for itself.
        if process == std::process::id() {
            OWN.get().value.lock().retain(|file| *file != id);
        }
    }
}
