//! Files that are created by a sink.

#[cfg(feature = "gzip")]
use std::fs::File;
use std::fs::OpenOptions;
#[cfg(feature = "gzip")]
use std::io;
#[cfg(feature = "gzip")]
use std::path::Path;

/// Creates a file, or makes it empty.
#[cfg(feature = "gzip")]
pub(super) fn create(path: &Path) -> io::Result<File> {
    open_options().write(true).truncate(true).open(path)
}

/// Returns options that create a missing file, for its owner and the group.
pub(super) fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o640);
    options
}
