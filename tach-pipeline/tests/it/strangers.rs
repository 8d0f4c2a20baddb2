//! Files in folders where other users may write too.

mod colleague;
#[cfg(target_os = "linux")]
mod jail;
mod log;
mod names;
#[cfg(target_os = "linux")]
mod rights;
mod rotation;

use core::time::Duration;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use tach_pipeline::{Pipeline, Rotation};
use test_support::users::{STRANGER, set_mode};

use crate::support::{Folder, LONG, info};

/// The folder of a child process.
const FOLDER: &str = "TACH_PIPELINE_STRANGERS_FOLDER";
/// The text of files that must stay.
const SECRET: &str = "root:$6$not for everyone";

/// Kinds of folders that a stranger may write: a name, the owner, and the mode.
const SHARED: [(&str, u32, u32); 6] = [
    ("plain", 0, 0o777),
    ("sticky", 0, 0o1777),
    ("setgid", STRANGER, 0o2775),
    ("of-a-group", 0, 0o770),
    ("owned", STRANGER, 0o755),
    ("of-root-s-group", 0, 0o775),
];

fn rotations() -> Vec<Rotation> {
    let rotation = Rotation::new().max_bytes(64 * 1024).keep(3);
    vec![
        rotation,
        #[cfg(feature = "gzip")]
        rotation.gzip(),
    ]
}

fn shared(folder: &Folder, (name, owner, mode): (&str, u32, u32)) -> PathBuf {
    let path = folder.path(name);
    fs::create_dir_all(&path).unwrap();
    // The group is the stranger's in most cases.
    let group = if name == "of-root-s-group" { 0 } else { STRANGER };
    std::os::unix::fs::chown(&path, Some(owner), Some(group)).unwrap();
    set_mode(&path, mode);
    path
}

/// Fills a file, so that the next record is in another one.
fn fill(pipeline: &Pipeline, name: &str) {
    info(pipeline, &format!("{name} {}", "x".repeat(60_000)));
    pipeline.flush(LONG).unwrap();
}

/// Waits until `is_so`: a thread of its own compresses and deletes.
fn wait_until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "it takes too long");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the entries of a folder with their owners and texts. A link's text is its target.
fn entries(folder: &Path) -> Vec<(String, u32, Vec<u8>)> {
    let entry = |entry: io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        // A thread may delete it meanwhile.
        let metadata = path.symlink_metadata().ok()?;
        let text = match fs::read_link(&path) {
            Ok(target) => target.into_os_string().into_encoded_bytes(),
            Err(_) if metadata.is_file() => fs::read(&path).ok()?,
            Err(_) => Vec::new(),
        };
        Some((path.file_name()?.to_str()?.to_owned(), metadata.uid(), text))
    };
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().filter_map(entry).collect();
    entries.sort();
    entries
}
