//! Writers, as users of the crate see them.

mod auto_traits;
mod crates;
#[cfg(unix)]
mod failures;
mod rotation;
#[cfg(all(unix, feature = "syslog"))]
mod syslog;

use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// A folder of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("tach-sinks-it-{name}-{}", process::id()));
        let _none_left = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn log(&self) -> PathBuf {
        self.0.join("app.log")
    }

    /// Returns the names of the files, in their order.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<_> = entries.map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }

    fn read(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}
