//! A signal handler that converts must leave `errno` as it was: what it interrupted may be about to read
//! it.

use std::fs;
use std::io;

#[test]
fn a_review_of_the_machine_leaves_errno_alone() {
    // Before the first review, which this sync makes: it opens files, some of which are not there.
    let not_a_folder = fs::read_dir("/dev/null").expect_err("a device is no folder").raw_os_error();
    tach_core::sync();
    assert_eq!(io::Error::last_os_error().raw_os_error(), not_a_folder);
}
