//! Files that are created by a sink.

#[cfg(feature = "gzip")]
use std::fs::File;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a file, or makes it empty.
#[cfg(feature = "gzip")]
pub(crate) fn create(path: &Path) -> io::Result<File> {
    open_options().write(true).truncate(true).open(path)
}

/// Returns options that create a missing file, for its owner and the group.
pub(crate) fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o640);
    options
}

/// Makes a folder and those that it is in, for the owner and the group.
pub(crate) fn create_folders(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o750);
    builder.create(path)
}
