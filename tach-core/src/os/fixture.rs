//! Files that stand in for the kernel's.

use core::ffi::CStr;
use std::ffi::CString;
use std::io::Write as _;

use tempfile::NamedTempFile;

/// A path at which there is no file.
pub(super) const MISSING: &CStr = c"/nonexistent/tach-fixture";

/// A file with this content, which is removed when it is dropped; and its path.
pub(super) fn fixture(content: &[u8]) -> (NamedTempFile, CString) {
    let mut file = NamedTempFile::new().expect("a temporary directory that can be written");
    file.write_all(content).expect("room for a fixture");
    let path = CString::new(file.path().as_os_str().as_encoded_bytes());
    (file, path.expect("a path without NUL"))
}
