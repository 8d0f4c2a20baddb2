//! A terminal whose other side is the test's.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

pub(crate) struct Terminal {
    pub(crate) ours: OwnedFd,
    pub(crate) theirs: File,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let theirs = File::options().read(true).write(true).open(name).unwrap();
        Self { ours, theirs }
    }
}

/// Returns what a terminal shows until its other side is closed.
pub(crate) fn shown(ours: OwnedFd) -> String {
    let mut text = Vec::new();
    // On Linux reading ends with an error, since the other side is closed.
    let _end = File::from(ours).read_to_end(&mut text);
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}
