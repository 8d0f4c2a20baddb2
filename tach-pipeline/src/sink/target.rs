//! A sink's file or writer, before and after it is opened.

use std::io;
use std::path::PathBuf;

use super::file::{LogFile, Options};
use crate::error::Error;

pub(super) enum Target {
    File { path: PathBuf, options: Options },
    Writer { name: String, writer: Box<dyn io::Write + Send> },
}

impl Target {
    pub(super) fn writer(name: &str, writer: impl io::Write + Send + 'static) -> Self {
        Self::Writer { name: name.to_owned(), writer: Box::new(writer) }
    }

    /// Returns the name for messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File { path, .. } => path.display().to_string(),
            Self::Writer { name, .. } => name.clone(),
        }
    }

    pub(super) fn open(self) -> Result<Writer, Error> {
        match self {
            Self::File { path, options } => match LogFile::open(&path, options) {
                Ok(file) => Ok(Writer::File(Box::new(file))),
                Err(error) => Err(Error::open(&path, error)),
            },
            Self::Writer { writer, .. } => Ok(Writer::Other(writer)),
        }
    }
}

/// An open file, or the user's writer.
pub(super) enum Writer {
    File(Box<LogFile>),
    Other(Box<dyn io::Write + Send>),
}

impl Writer {
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Other(writer) => writer.write(bytes),
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            // It has no buffer.
            Self::File(_) => Ok(()),
            Self::Other(writer) => writer.flush(),
        }
    }
}
