//! A folder of a test.

use std::path::PathBuf;
use std::{env, fs, process};

/// A folder that is removed with this.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tach-example-{name}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self { path }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _is_gone = fs::remove_dir_all(&self.path);
    }
}
