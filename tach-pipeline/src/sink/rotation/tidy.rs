//! Old files are compressed and deleted on a thread of their own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::Rotation;

/// The thread, if there was one.
#[derive(Default)]
pub(in crate::sink) struct Tidying {
    last: Option<JoinHandle<io::Result<()>>>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_at_work: bool,
    /// The rotation that came while the thread was at work.
    late: Option<(PathBuf, Rotation)>,
}

impl Tidying {
    /// Begins to compress and delete the old files of `path`. If that is under way, the thread
    /// begins again when it is done.
    ///
    /// # Errors
    ///
    /// If the thread can't be started, or the last one failed.
    pub(in crate::sink) fn begin(&mut self, path: PathBuf, rotation: Rotation) -> io::Result<()> {
        if rotation.keep == usize::MAX && !rotation.compresses {
            return Ok(());
        }
        {
            let mut state = lock(&self.state);
            if state.is_at_work {
                state.late = Some((path, rotation));
                return Ok(());
            }
            state.is_at_work = true;
        }
        let last = self.last.take().map(JoinHandle::join);
        let work = Work { state: Arc::clone(&self.state), is_done: false };
        let tidy = move || work.tidy((path, rotation));
        self.last = Some(thread::Builder::new().name("tach-tidy".to_owned()).spawn(tidy)?);
        last.unwrap_or(Ok(Ok(()))).unwrap_or_else(|_| Err(io::Error::other("tidying panicked")))
    }
}

impl Drop for Tidying {
    /// Leaves the old files tidy.
    fn drop(&mut self) {
        let _too_late_to_report = self.last.take().map(JoinHandle::join);
    }
}

/// The thread's work. However it ends, another thread may begin.
struct Work {
    state: Arc<Mutex<State>>,
    is_done: bool,
}

impl Work {
    fn tidy(mut self, first: (PathBuf, Rotation)) -> io::Result<()> {
        let (mut next, mut result) = (Some(first), Ok(()));
        while let Some((path, rotation)) = next {
            result = result.and(tidy(&path, rotation));
            let mut state = lock(&self.state);
            next = state.late.take();
            self.is_done = next.is_none();
            state.is_at_work = next.is_some();
        }
        result
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if !self.is_done {
            lock(&self.state).is_at_work = false;
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Deletes all but the youngest old files, and compresses these. Rotations go on meanwhile, so it
/// looks again after each.
fn tidy(path: &Path, rotation: Rotation) -> io::Result<()> {
    while let Some(file) = delete_old(path, rotation)? {
        compress(&file)?;
    }
    Ok(())
}

/// Deletes all but the youngest old files. Returns the youngest one that is to be compressed.
fn delete_old(path: &Path, rotation: Rotation) -> io::Result<Option<PathBuf>> {
    let mut files = old_files(path)?;
    let beyond = files.len().saturating_sub(rotation.keep);
    for file in files.drain(..beyond) {
        remove(&file)?;
        // Left by a process that ended while it compressed.
        remove(&part(&compressed(&file)))?;
    }
    files.retain(|file| rotation.compresses && file.extension() != Some("gz".as_ref()));
    Ok(files.pop())
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

/// Returns the path of a compressed file that is not complete.
fn part(compressed: &Path) -> PathBuf {
    let mut name = compressed.as_os_str().to_owned();
    name.push(".part");
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
    let part = part(&done);
    let mut file = fs::File::open(path)?;
    let mut to = GzEncoder::new(create(&part)?, Compression::default());
    io::copy(&mut file, &mut to)?;
    to.finish()?.sync_all()?;
    fs::rename(part, done)?;
    remove(path)
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    #[test]
    fn a_rotation_that_comes_late_is_tidied_by_the_same_thread() {
        let folder = env::temp_dir().join(format!("tach-pipeline-tidy-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let rotation = Rotation::new().keep(1);
        let names = ["a", "b"].map(|name| folder.join(name));
        let old = |path: &Path, hour: u8| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".20261123T{hour:02}0000.000000Z"));
            PathBuf::from(name)
        };
        for name in &names {
            for hour in 0..3 {
                fs::write(old(name, hour), "").unwrap();
            }
        }
        fs::write(part(&compressed(&old(&names[0], 0))), "").unwrap();
        let [first, late] = names.clone();
        let state = State { is_at_work: true, late: Some((late, rotation)) };
        let state = Arc::new(Mutex::new(state));
        let work = Work { state: Arc::clone(&state), is_done: false };
        work.tidy((first, rotation)).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        assert!(names.iter().all(|name| old(name, 2).exists()));
        assert!(!lock(&state).is_at_work && lock(&state).late.is_none());
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(feature = "gzip")]
    #[test]
    fn files_that_come_while_others_are_compressed_count() {
        let folder = env::temp_dir().join(format!("tach-pipeline-tidy-gzip-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("log");
        let old = |hour: u8| folder.join(format!("log.20261123T{hour:02}0000.000000Z"));
        let rotation = Rotation::new().keep(2).gzip();
        let hours =
            |hours: core::ops::Range<u8>| hours.for_each(|it| fs::write(old(it), "").unwrap());
        let next = || delete_old(&path, rotation).unwrap();
        let names = || {
            let mut names: Vec<_> =
                fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            names.sort();
            names
        };
        hours(0..4);
        assert_eq!(next(), Some(old(3)));
        assert_eq!(names(), [old(2), old(3)]);
        compress(&old(3)).unwrap();
        hours(4..5);
        assert_eq!(next(), Some(old(4)));
        assert_eq!(names(), [compressed(&old(3)), old(4)]);
        compress(&old(4)).unwrap();
        assert_eq!((next(), names().len()), (None, 2));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn work_that_never_began_is_no_longer_waited_for() {
        let state = Arc::new(Mutex::new(State { is_at_work: true, late: None }));
        drop(Work { state: Arc::clone(&state), is_done: false });
        assert!(!lock(&state).is_at_work);
    }
}
