//! Reads what processes have left, for programs that show it and pass nothing on.

mod snapshot;
mod survivor;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::vec;

use tach_core::UnixTime;
use tach_files::PrivateFolder;

use self::snapshot::Snapshot;
pub use self::survivor::Survivor;
use super::image::Image;
use super::own::{self, Use};
use crate::error::Error;

/// The records in a folder of [`Builder::survive`](crate::Builder::survive), for a program that
/// shows them. An iterator with an item for each process, the oldest first.
///
/// Reading changes nothing: the next pipeline with the folder still passes the records on. `tach
/// recover` of the package tach-cli prints them.
///
/// # Errors
///
/// An item is an error if its file can't be read: a living process uses the file, another version
/// of this crate has written it, or it is damaged.
///
/// # Platform-specific behavior
///
/// With the feature `survive`, on Linux with 64 bits.
///
/// # Examples
///
/// ```
/// use tach_log::Line;
/// use tach_pipeline::Survivors;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("tach-doc-survivors-{}", std::process::id()));
/// # std::fs::create_dir(&folder)?;
/// # use std::os::unix::fs::PermissionsExt as _;
/// # std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700))?;
/// for survivor in Survivors::read(&folder)? {
///     match survivor {
///         Ok(survivor) => {
///             println!("process {} left {} records", survivor.process(), survivor.records());
///             let mut lines = Vec::new();
///             survivor.each(|event| tach_log::Format::write(&Line::new(), event, &mut lines))?;
///             print!("{}", String::from_utf8_lossy(&lines));
///         }
///         Err(error) => eprintln!("{error}"),
///     }
/// }
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Survivors {
    folder: Arc<PrivateFolder>,
    files: vec::IntoIter<Named>,
    peeks: bool,
    /// For a file's number, how many of its items another process has passed on.
    claims: HashMap<u64, u64>,
}

/// A file in the folder.
#[derive(Debug)]
struct Named {
    name: OsString,
    id: u64,
}

impl Survivors {
    /// Finds the files of processes that have ended.
    ///
    /// # Errors
    ///
    /// If the folder is missing or can't be read, belongs to another user, or lets other users in.
    ///
    /// # Examples
    ///
    /// See [`Survivors`].
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, Error> {
        Self::find(folder.as_ref(), false)
    }

    /// Also finds the files of living processes, such as one that hangs. Neither waits for such a
    /// process nor changes its file or its lock. The records that the process logs or passes on
    /// meanwhile may be left out, also some that precede others. A file of the calling process is
    /// an error.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use tach_pipeline::Survivors;
    ///
    /// for survivor in Survivors::peek("/run/app/survivors")?.flatten() {
    ///     println!("process {}, alive: {}", survivor.process(), survivor.is_alive());
    /// }
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn peek(folder: impl AsRef<Path>) -> Result<Self, Error> {
        Self::find(folder.as_ref(), true)
    }

    fn find(path: &Path, peeks: bool) -> Result<Self, Error> {
        let error = |error| Error::survivors(path, error);
        let folder = PrivateFolder::existing(path).map_err(|why| match why.kind() {
            io::ErrorKind::NotFound => error(io::Error::new(why.kind(), "there is no such folder")),
            _ => error(why),
        });
        let folder = Arc::new(folder?);
        let (mut files, mut claims) = (Vec::new(), HashMap::new());
        for name in folder.names().map_err(error)? {
            let Some(id) = own::id_of(&name) else { continue };
            let found = with_file(&folder, &name, id, |file| file.beginning());
            let started = match found.as_deref().map(Image::read) {
                Ok(Ok(image)) => {
                    let (of, taken) = image.takes();
                    let most = claims.entry(of).or_insert(taken);
                    *most = taken.max(*most);
                    image.started()
                }
                _ => UnixTime::EPOCH,
            };
            files.push((started, Named { name, id }));
        }
        files.sort_by_key(|(started, _)| *started);
        let files: Vec<_> = files.into_iter().map(|(_, named)| named).collect();
        Ok(Self { folder, files: files.into_iter(), peeks, claims })
    }

    /// Returns `None` if the file has nothing, or is gone.
    fn open(&self, Named { name, id }: &Named) -> io::Result<Option<Survivor>> {
        let snapshot = with_file(&self.folder, name, *id, |file| {
            let is_alive = self.folder.is_in_use(file.0)?;
            match is_alive {
                true if !self.peeks => Err(io::Error::new(
                    io::ErrorKind::WouldBlock,
                    "a living process uses the file: the one that has written it, or one that \
                     passes its records on; peek reads it nevertheless, and changes nothing",
                )),
                true => Ok((file.living()?, true)),
                false => Ok((file.all()?, false)),
            }
        });
        let (copy, is_alive) = match snapshot {
            Ok(snapshot) => snapshot,
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let claimed = self.claims.get(id).copied().unwrap_or(0);
        let found = Survivor::of(&copy, claimed)?;
        let found = found.filter(|found| is_alive || found.is_of_use());
        Ok(found.map(|found| found.in_file(&self.folder, name, is_alive)))
    }
}

impl Iterator for Survivors {
    type Item = Result<Survivor, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let named = self.files.next()?;
            match self.open(&named) {
                Ok(None) => {}
                Ok(Some(found)) => return Some(Ok(found)),
                Err(error) => {
                    let path = self.folder.path().join(&named.name);
                    return Some(Err(Error::survivors(&path, error)));
                }
            }
        }
    }
}

/// Opens a file that this process does not use, and calls `f`. (If it did, closing the file again
/// would end its lock.)
fn with_file<R>(
    folder: &PrivateFolder,
    name: &OsString,
    id: u64,
    f: impl FnOnce(Snapshot<'_>) -> io::Result<R>,
) -> io::Result<R> {
    let _own = own::add(id, Use::Reader).map_err(Use::error)?;
    let file = folder.read(name)?;
    f(Snapshot(&file))
}

#[cfg(test)]
mod tests;
