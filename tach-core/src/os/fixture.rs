//! Files that stand in for the kernel's.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, Ordering};
use std::ffi::CString;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::{env, fs, process};

/// A path without a file.
pub(super) const MISSING: &CStr = c"/nonexistent/tach-fixture";

/// A file that is removed on drop.
pub(super) struct Fixture(PathBuf);

impl Drop for Fixture {
    fn drop(&mut self) {
        let _already_removed = fs::remove_file(&self.0);
    }
}

/// Creates a file with this content, and returns it with its path.
pub(super) fn fixture(content: &[u8]) -> (Fixture, CString) {
    static MADE: AtomicU32 = AtomicU32::new(0);
    // ORDERING: Relaxed. Only the number is used, and publishes nothing.
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let path = env::temp_dir().join(format!("tach-fixture-{}-{number}", process::id()));
    // `create_new` fails if the path exists, so the fixture never overwrites another program's file
    // and never follows a link.
    let mut file = File::create_new(&path).expect("a temporary directory that can be written");
    file.write_all(content).expect("room for a fixture");
    let name = CString::new(path.as_os_str().as_encoded_bytes());
    (Fixture(path), name.expect("a path without NUL"))
}
