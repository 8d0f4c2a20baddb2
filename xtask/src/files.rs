//! Files and folders, with errors that name them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| cannot("read", path, &error))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| cannot("write", path, &error))
}

/// Writes a file unless it has this text, so that cargo compiles it again only if it changed.
pub(crate) fn write_if_new(path: &Path, text: &str) -> Result<(), String> {
    let is_old = fs::read(path).is_ok_and(|old| old == text.as_bytes());
    if is_old { Ok(()) } else { write(path, text) }
}

/// Creates a folder, or empties it.
pub(crate) fn fresh_folder(path: &Path) -> Result<(), String> {
    if path.exists() {
        fs::remove_dir_all(path).map_err(|error| cannot("remove", path, &error))?;
    }
    create_folder(path)
}

/// Creates a folder and its parents, unless they exist.
pub(crate) fn create_folder(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|error| cannot("create", path, &error))
}

/// Returns the paths in a folder.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let cannot = |error| cannot("read", folder, &error);
    let entries = fs::read_dir(folder).map_err(cannot)?;
    entries.map(|entry| Ok(entry.map_err(cannot)?.path())).collect()
}

pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    create_folder(to)?;
    for from in entries(from)? {
        let to = to.join(from.file_name().unwrap_or_default());
        if from.is_dir() { copy_folder(&from, &to)? } else { copy_file(&from, &to)? }
    }
    Ok(())
}

pub(crate) fn copy_file(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map_err(|error| cannot("copy", from, &error))?;
    Ok(())
}

/// Copies a file unless the copy has the same contents.
pub(crate) fn copy_if_new(from: &Path, to: &Path) -> Result<(), String> {
    let contents = fs::read(from).map_err(|error| cannot("read", from, &error))?;
    let is_old = fs::read(to).is_ok_and(|old| old == contents);
    if is_old { Ok(()) } else { copy_file(from, to) }
}

fn cannot(act: &str, path: &Path, error: &io::Error) -> String {
    format!("can't {act} {}: {error}", path.display())
}
