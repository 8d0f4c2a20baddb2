//! Files that can't be read: of another version, or damaged.

use std::ffi::{OsStr, OsString};
use std::time::SystemTime;

use tach_files::PrivateFolder;

/// The suffix of the names of files that were set aside.
const LAST: &str = ".aside";
/// How many of these files are kept: the newest.
const MOST: usize = 4;

/// Gives a file another name, so that no start reads it again, and removes the oldest of such files
/// if there are too many.
pub(super) fn set_aside(folder: &PrivateFolder, name: &OsStr) {
    let mut aside = name.to_owned();
    aside.push(LAST);
    // If the renaming fails, a later start tries again.
    let _tried_again = folder.rename(name, &aside);
    let names = folder.names().unwrap_or_default();
    let mut all: Vec<_> = names
        .into_iter()
        .filter(|name| name.as_encoded_bytes().ends_with(LAST.as_bytes()))
        .map(|name| (written(folder, &name), name))
        .collect();
    all.sort();
    for (_, oldest) in &all[..all.len().saturating_sub(MOST)] {
        let _tried_again = folder.remove(oldest);
    }
}

/// Returns when a file was last written.
fn written(folder: &PrivateFolder, name: &OsString) -> Option<SystemTime> {
    folder.open(name).and_then(|file| file.metadata()?.modified()).ok()
}
