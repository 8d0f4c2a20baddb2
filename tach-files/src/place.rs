//! A path whose links were resolved once.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::folder::Folder;
use crate::os;

/// The most links of a path, as on Linux.
const MOST_LINKS: usize = 40;

/// The folder and the name of a file. The links of its path were resolved once.
///
/// # Examples
///
/// ```
/// use tach_files::Place;
///
/// let place = Place::of("Cargo.toml".as_ref())?;
/// assert_eq!(place.name(), "Cargo.toml");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Place {
    folder: PathBuf,
    name: OsString,
    kept: Option<Arc<Folder>>,
}

impl Place {
    /// Resolves the links of a path, as [`resolve`] does. The file need not exist.
    ///
    /// # Errors
    ///
    /// See [`resolve`]. Also if the path does not end with a name.
    ///
    /// # Examples
    ///
    /// See [`Place`].
    pub fn of(path: &Path) -> io::Result<Self> {
        let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let path = resolve(path)?;
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) if !is_folder => {
                Ok(Self { folder: folder.to_owned(), name: name.to_owned(), kept: None })
            }
            _ => Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a folder, and must be a file",
            )),
        }
    }

    /// Returns the name of the file.
    ///
    /// # Examples
    ///
    /// See [`Place`].
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Returns the path of the file.
    ///
    /// # Examples
    ///
    /// ```
    /// let path = tach_files::Place::of("Cargo.toml".as_ref())?.path();
    /// assert!(path.is_absolute());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Keeps the folder open. Then [`folder`](Self::folder) and [`make_folder`](Self::make_folder)
    /// return this folder [again](Folder::again), wherever the path leads by then.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut place = tach_files::Place::of("Cargo.toml".as_ref())?;
    /// place.keep(place.folder()?);
    /// assert!(place.folder()?.entry(place.name())?.is_some_and(|entry| entry.is_file()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn keep(&mut self, folder: Folder) {
        self.kept = Some(Arc::new(folder));
    }

    /// Opens the folder: see [`Folder::open`].
    ///
    /// # Errors
    ///
    /// See [`Folder::open`].
    ///
    /// # Examples
    ///
    /// See the [crate].
    pub fn folder(&self) -> io::Result<Folder> {
        self.kept.as_ref().map_or_else(|| Folder::open(&self.folder), |kept| kept.again())
    }

    /// Opens the folder, and makes it if it is missing: see [`Folder::make`].
    ///
    /// # Errors
    ///
    /// See [`Folder::make`].
    ///
    /// # Examples
    ///
    /// See [`Folder::make`].
    pub fn make_folder(&self) -> io::Result<Folder> {
        self.kept.as_ref().map_or_else(|| Folder::make(&self.folder), |kept| kept.again())
    }
}

/// Returns the absolute path without links, up to the first part that is missing.
///
/// A link is followed only if it belongs to root or to the process's user. In the place of a
/// folder, a process without more rights than others (see [`Folder::refuse_if_shared`]) also
/// follows a link of its folder's owner, if nobody else may write that folder. On Linux, a
/// descriptor of this process such as `/proc/self/fd/1` stays as it is: it may lead to a pipe, or
/// to a file without a name.
///
/// # Platform-specific behavior
///
/// On Unix only. Elsewhere the absolute path is returned as it is.
///
/// # Errors
///
/// If a link belongs to somebody else, there are more than 40 of them, or one can't be read.
///
/// # Examples
///
/// ```
/// let path = tach_files::resolve("missing/app.log".as_ref())?;
/// assert!(path.is_absolute() && path.ends_with("missing/app.log"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = without_end_slash(&std::path::absolute(path)?);
    if cfg!(not(unix)) {
        return Ok(path);
    }
    for _ in 0..=MOST_LINKS {
        // Begin with the shortest ancestor, so that no other link precedes the one found.
        let mut folders: Vec<_> = path.ancestors().collect();
        folders.reverse();
        let Some(link) = folders.into_iter().find(|folder| folder.is_symlink()) else {
            return Ok(without_dots(&path));
        };
        if link == path && os::is_own_descriptor(link) {
            return Ok(path);
        }
        let (target, rest) = (os::read_link(link, link == path)?, path.strip_prefix(link));
        let (target, rest) = (target, rest.unwrap_or(&path));
        let target = link.parent().unwrap_or(link).join(target);
        path = without_end_slash(&target.join(rest));
    }
    Err(io::Error::other("it leads through more than 40 links, and must lead to a file"))
}

/// Returns a path that names a link itself, and not the folder behind it.
fn without_end_slash(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Returns a path without `..`, which is right where no folder is a link.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;
    use std::{env, fs, process};

    use super::*;

    #[test]
    fn links_are_resolved_as_the_system_resolves_them() {
        let folder = env::temp_dir().join(format!("tach-files-links-{}", process::id()));
        let folder = folder.as_path();
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/b/file"), "").unwrap();
        symlink("a/b", folder.join("relative")).unwrap();
        symlink(folder.join("a"), folder.join("absolute")).unwrap();
        symlink("relative/../b/file", folder.join("through")).unwrap();
        symlink("loop", folder.join("loop")).unwrap();
        symlink("relative/", folder.join("slash")).unwrap();
        for path in [
            "a/b/file",
            "relative/file",
            "absolute/b/file",
            "through",
            "relative/../b/file",
            "absolute/../relative/./file",
            "relative/",
            "slash",
            "slash/file",
        ] {
            let path = folder.join(path);
            assert_eq!(resolve(&path).unwrap(), fs::canonicalize(&path).unwrap(), "{path:?}");
        }
        let missing = resolve(&folder.join("relative/missing/app.log")).unwrap();
        let existing = fs::canonicalize(folder).unwrap();
        assert_eq!(missing, existing.join("a/b/missing/app.log"));
        assert!(resolve(&folder.join("loop")).unwrap_err().to_string().contains("40 links"));
        assert!(Place::of("/".as_ref()).is_err());
        if cfg!(target_os = "linux") {
            let descriptor = resolve("/dev/fd/0".as_ref()).unwrap();
            assert_eq!(descriptor, Path::new(&format!("/proc/{}/fd/0", process::id())));
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
