//! A file at a path that the user named, for new contents.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::access::Access;
use crate::place::Place;

/// Empties a file for new contents, or creates it, for a path that the user of a program named.
///
/// Links of the path are followed as by [`resolve`](crate::resolve). A device or a pipe, such as
/// `/dev/stdout`, is opened as it is.
///
/// # Errors
///
/// If that fails, or in a folder that other users may write, if the file is another user's or has
/// another name.
///
/// # Examples
///
/// ```
/// # let path = std::env::temp_dir().join(format!("tach-files-create-{}", std::process::id()));
/// let file = tach_files::create(&path)?;
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn create(path: &Path) -> io::Result<File> {
    if is_special(path) {
        return File::options().write(true).open(path);
    }
    let place = Place::of(path)?;
    place.folder()?.overwrite(place.name(), &Access::at_most(0o666))
}

/// Returns whether a path leads to a device, a pipe or a socket, which no link's text need name:
/// `/dev/stdout` leads to `pipe:[1234]`.
///
/// # Examples
///
/// ```
/// assert!(!tach_files::is_special("Cargo.toml".as_ref()));
/// ```
#[must_use]
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir())
}
