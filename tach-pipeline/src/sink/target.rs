//! A sink's file or writer, before and after it is opened.

use core::time::Duration;
use std::io;
use std::path::PathBuf;

#[cfg(feature = "otlp")]
use tach_otlp::{Otlp, Signal, adapter};

use super::batch::BATCH;
use super::file::{LogFile, Options};
#[cfg(feature = "otlp")]
use super::otlp::{self, Collector};
use crate::error::Error;

pub(super) enum Target {
    File {
        path: PathBuf,
        options: Options,
    },
    Writer {
        name: String,
        writer: Box<dyn io::Write + Send>,
    },
    #[cfg(feature = "otlp")]
    Otlp(Box<Otlp>, Signal),
}

impl Target {
    /// Returns the name for messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File { path, .. } => path.display().to_string(),
            Self::Writer { name, .. } => name.clone(),
            #[cfg(feature = "otlp")]
            Self::Otlp(options, signal) => adapter::endpoint(options, *signal),
        }
    }

    pub(super) fn open(self) -> Result<Writer, Error> {
        match self {
            Self::File { path, options } => match LogFile::open(&path, options) {
                Ok(file) => Ok(Writer::File(Box::new(file))),
                Err(error) => Err(Error::open(&path, error)),
            },
            Self::Writer { writer, .. } => Ok(Writer::Other(writer)),
            #[cfg(feature = "otlp")]
            Self::Otlp(options, signal) => {
                Collector::open(&options, signal).map(|it| Writer::Otlp(Box::new(it)))
            }
        }
    }
}

/// An open file, the user's writer or a collector.
pub(super) enum Writer {
    File(Box<LogFile>),
    Other(Box<dyn io::Write + Send>),
    #[cfg(feature = "otlp")]
    Otlp(Box<Collector>),
}

impl Writer {
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Other(writer) => writer.write(bytes),
            #[cfg(feature = "otlp")]
            Self::Otlp(collector) => collector.send(bytes),
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            // It has no buffer.
            Self::File(_) => Ok(()),
            Self::Other(writer) => writer.flush(),
            // Each write is a whole request.
            #[cfg(feature = "otlp")]
            Self::Otlp(_) => Ok(()),
        }
    }

    /// Returns whether writing takes as long as an answer from another machine, so that the back
    /// end must not do it.
    pub(super) fn is_remote(&self) -> bool {
        match self {
            #[cfg(feature = "otlp")]
            Self::Otlp(_) => true,
            _ => false,
        }
    }

    /// Returns how many bytes of events a write may have.
    pub(super) fn most_bytes(&self) -> usize {
        match self {
            #[cfg(feature = "otlp")]
            Self::Otlp(_) => otlp::MOST_BYTES,
            _ => BATCH,
        }
    }

    /// Returns how long events may wait for others, since each write is costly.
    pub(super) fn max_delay(&self) -> Duration {
        match self {
            #[cfg(feature = "otlp")]
            Self::Otlp(collector) => collector.max_delay(),
            _ => Duration::ZERO,
        }
    }

    /// Returns how long the writer asks not to be tried.
    pub(super) fn pause(&self) -> Duration {
        match self {
            #[cfg(feature = "otlp")]
            Self::Otlp(collector) => collector.pause(),
            _ => Duration::ZERO,
        }
    }

    /// Returns how long the same events are tried before they are given up.
    pub(super) fn retries_for(&self) -> Duration {
        match self {
            #[cfg(feature = "otlp")]
            Self::Otlp(collector) => collector.retry_for(),
            _ => Duration::MAX,
        }
    }
}
