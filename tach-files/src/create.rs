//! Files at paths that a program or its user named.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::access::Access;
use crate::entry::{Entry, Kind};
use crate::os;
use crate::place::{Place, resolve};

/// Empties a file for new contents, or creates it, for a path that the user of a program named.
///
/// Links of the path are followed as by [`resolve`]. A device, a FIFO or a descriptor of this
/// process is opened as by [`open_special`].
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
    if let Some(file) = open_special(path)? {
        return Ok(file);
    }
    let place = Place::of(path)?;
    place.folder()?.overwrite(place.name(), &Access::at_most(0o666))
}

/// Returns the error that [`create`] would return now, without changing the file.
///
/// A file that does not exist yet is created and removed.
///
/// # Errors
///
/// Those of [`create`].
///
/// # Examples
///
/// ```
/// # let path = std::env::temp_dir().join(format!("tach-files-check-{}", std::process::id()));
/// tach_files::check_create(&path)?;
/// assert!(!path.exists());
/// assert!(tach_files::check_create("no-such-folder/plot.svg".as_ref()).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn check_create(path: &Path) -> io::Result<()> {
    if open_special(path)?.is_some() {
        return Ok(());
    }
    let place = Place::of(path)?;
    place.folder()?.check_overwrite(place.name(), &Access::at_most(0o666))
}

/// Opens a device, a FIFO or, on Linux, a descriptor of this process for writing. Returns `None` if
/// the path leads to anything else, or to nothing.
///
/// Links of the path are followed as by [`resolve`]. A FIFO is opened for reading too, so that it
/// needs no reader. `/dev/stdout` is a descriptor of this process, wherever it leads.
///
/// # Errors
///
/// If a link can't be followed, or the file can't be opened.
///
/// # Examples
///
/// ```
/// assert!(tach_files::open_special("Cargo.toml".as_ref())?.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn open_special(path: &Path) -> io::Result<Option<File>> {
    let path = resolve(path)?;
    if os::is_own_descriptor(&path) {
        return File::options().append(true).open(path).map(Some);
    }
    // If the path can't be looked at, it can't be opened either. Try anyway: `open` returns the
    // better error.
    match Entry::at(&path) {
        Ok(Some(Entry { kind: Kind::Special, .. })) => {
            let place = Place::of(&path)?;
            place.folder()?.open_special(place.name()).map(Some)
        }
        _ => Ok(None),
    }
}
