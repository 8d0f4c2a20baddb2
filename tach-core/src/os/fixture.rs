//! Files that stand in for the kernel's.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, Ordering};
use std::ffi::CString;
use std::{env, fs, process};

/// A file with a given content, removed when it is dropped.
pub(super) struct Fixture {
    path: CString,
}

impl Fixture {
    pub(super) fn new(content: &[u8]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // ORDERING: Relaxed: the number need only be one that nobody else has.
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tach-fixture-{}-{number}", process::id()));
        let path = path.into_os_string().into_string().expect("a temporary directory in UTF-8");
        fs::write(&path, content).expect("a temporary directory that can be written");
        Self { path: CString::new(path).expect("a path without NUL") }
    }

    pub(super) fn path(&self) -> &CStr {
        &self.path
    }

    pub(super) fn write(&self, content: &[u8]) {
        fs::write(self.name(), content).expect("a fixture that can be written");
    }

    fn name(&self) -> &str {
        self.path.to_str().expect("a path in UTF-8")
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.name());
    }
}

/// A path at which there is no file.
pub(super) fn missing() -> &'static CStr {
    c"/nonexistent/tach-fixture"
}
