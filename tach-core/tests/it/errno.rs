//! A conversion preserves `errno`: a signal handler that converts may have interrupted code that is
//! about to read it.

use std::fs;
use std::io;

#[test]
fn a_review_of_the_machine_leaves_errno_alone() {
    // `sync` makes the first review, which opens files. Some of them don't exist.
    let not_a_folder = fs::read_dir("/dev/null").expect_err("a device is no folder").raw_os_error();
    tach_core::sync();
    assert_eq!(io::Error::last_os_error().raw_os_error(), not_a_folder);
}
