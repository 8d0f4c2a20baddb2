//! Old files are compressed and deleted on a thread of their own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use super::Rotation;

/// The thread, if there was one.
#[derive(Default)]
pub(in crate::sink) struct Tidying {
    last: Option<JoinHandle<io::Result<()>>>,
    /// The rotation that came while the thread was at work.
    late: Option<(PathBuf, Rotation)>,
}

impl Tidying {
    /// Begins to compress and delete the old files of `path`, unless that is under way. Then it
    /// begins again after the next rotation, or at the end.
    ///
    /// # Errors
    ///
    /// If the thread can't be started, or the last one failed.
    pub(in crate::sink) fn begin(&mut self, path: &Path, rotation: Rotation) -> io::Result<()> {
        if rotation.keep == usize::MAX && !rotation.compresses {
            return Ok(());
        }
        let path = path.to_owned();
        if self.last.as_ref().is_some_and(|last| !last.is_finished()) {
            self.late = Some((path, rotation));
            return Ok(());
        }
        self.late = None;
        let last = self.last.take().map(JoinHandle::join);
        let tidy = move || tidy(&path, rotation);
        self.last = Some(thread::Builder::new().name("tach-tidy".to_owned()).spawn(tidy)?);
        last.unwrap_or(Ok(Ok(()))).unwrap_or_else(|_| Err(io::Error::other("tidying panicked")))
    }
}

impl Drop for Tidying {
    /// Leaves the old files tidy.
    fn drop(&mut self) {
        let _too_late_to_report = self.last.take().map(JoinHandle::join);
        if let Some((path, rotation)) = self.late.take() {
            let _too_late_to_report = tidy(&path, rotation);
        }
    }
}

/// Deletes all but the youngest old files, and compresses these.
fn tidy(path: &Path, rotation: Rotation) -> io::Result<()> {
    let mut files = old_files(path)?;
    let beyond = files.len().saturating_sub(rotation.keep);
    for file in files.drain(..beyond) {
        remove(&file)?;
    }
    if rotation.compresses {
        files.retain(|file| file.extension() != Some("gz".as_ref()));
        files.iter().try_for_each(|file| compress(file))?;
    }
    Ok(())
}

/// Deletes a file, unless somebody else did.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Returns the old files of `path`, the oldest first.
fn old_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let (Some(name), mut files) = (path.file_name(), Vec::new()) else {
        return Ok(Vec::new());
    };
    for entry in fs::read_dir(folder)? {
        let file = entry?.file_name();
        let (file, name) = (file.as_encoded_bytes(), name.as_encoded_bytes());
        let rest = file.strip_prefix(name).and_then(|rest| rest.strip_prefix(b"."));
        if rest.is_some_and(is_time) {
            files.push(String::from_utf8_lossy(&file[name.len()..]).into_owned());
        }
    }
    files.sort_unstable();
    let with_path = |end: String| {
        let mut file = path.as_os_str().to_owned();
        file.push(end);
        PathBuf::from(file)
    };
    Ok(files.into_iter().map(with_path).collect())
}

/// Returns whether the end of a name is a time as a rotation writes it, with `.gz` or without.
fn is_time(end: &[u8]) -> bool {
    let end = end.strip_suffix(b".gz").unwrap_or(end);
    let pattern = b"00000000T000000.000000Z";
    end.len() == pattern.len()
        && end.iter().zip(pattern).all(|(byte, kind)| match kind {
            b'0' => byte.is_ascii_digit(),
            _ => byte == kind,
        })
}

/// Returns the path of the compressed file.
pub(super) fn compressed(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    name.into()
}

/// Only a method that the feature adds asks for it.
#[cfg(not(feature = "gzip"))]
fn compress(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Replaces a file by its compressed one.
#[cfg(feature = "gzip")]
fn compress(path: &Path) -> io::Result<()> {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use crate::sink::new_file::create;

    let done = compressed(path);
    let mut part = done.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let mut file = fs::File::open(path)?;
    let mut to = GzEncoder::new(create(&part)?, Compression::default());
    io::copy(&mut file, &mut to)?;
    to.finish()?.sync_all()?;
    fs::rename(part, done)?;
    remove(path)
}
