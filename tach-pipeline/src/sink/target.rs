//! A sink's file or writer, before it is opened.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

pub(super) enum Target {
    File(PathBuf),
    Writer { name: String, writer: Box<dyn io::Write + Send> },
}

impl Target {
    pub(super) fn writer(name: &str, writer: impl io::Write + Send + 'static) -> Self {
        Self::Writer { name: name.to_owned(), writer: Box::new(writer) }
    }

    /// Returns the name for messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Writer { name, .. } => name.clone(),
        }
    }

    /// Returns the writer, and the path at which to open a new one.
    pub(super) fn open(self) -> Result<(Box<dyn io::Write + Send>, Option<PathBuf>), Error> {
        match self {
            Self::File(path) => match append(&path) {
                Ok(file) => Ok((Box::new(file), Some(path))),
                Err(error) => Err(Error::open(&path, error)),
            },
            Self::Writer { writer, .. } => Ok((writer, None)),
        }
    }
}

pub(super) fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o640);
    options.open(path)
}
