//! `tracing_subscriber::fmt`: lines that it has formatted.

use core::fmt;
use std::io;

use tracing_core::Metadata;
use tracing_subscriber::fmt::MakeWriter;

use crate::frame::texts::MaybeStatic;
use crate::level::Level;
use crate::pipeline::Pipeline;

/// Makes writers of lines that are written as they are, in any sink's format but that of the journal, which
/// has them as messages.
///
/// What a line holds is the subscriber's to escape, and `tracing_subscriber::fmt` lets line ends in messages
/// pass: an event may be several lines. With the [`Pipeline`] as a `Layer` it is one, whatever it holds.
///
/// The formatting is done by the caller, which costs what it costs; the [`Pipeline`] as a `Layer` is for
/// speed. Sinks and filters go by the event's level and target, where the subscriber tells them.
impl<'a> MakeWriter<'a> for Pipeline {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> LineWriter<'a> {
        LineWriter::new(self, Level::of(log::Level::Error), "")
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> LineWriter<'a> {
        let (level, target) = (super::tracing::level(metadata), metadata.target());
        LineWriter::new(self, level, target)
    }
}

/// Collects one line, and logs it when it is dropped.
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Pipeline, Sink};
///
/// let (pipeline, _guard) = Pipeline::builder().sink(Sink::stdout()).build()?;
/// let subscriber = tracing_subscriber::fmt().with_writer(pipeline).finish();
/// # drop(subscriber);
/// # Ok::<(), tach_pipeline::Error>(())
/// ```
pub struct LineWriter<'a> {
    pipeline: &'a Pipeline,
    level: Level,
    is_enabled: bool,
    line: Vec<u8>,
}

impl<'a> LineWriter<'a> {
    fn new(pipeline: &'a Pipeline, level: Level, target: &str) -> Self {
        let is_enabled = pipeline.shared.filters.enabled(level, target);
        Self { pipeline, level, is_enabled, line: Vec::new() }
    }
}

impl io::Write for LineWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_enabled {
            self.line.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    /// Does nothing: the line is logged when the writer is dropped.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LineWriter<'_> {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.pipeline.log_with(self.level, MaybeStatic::Static(""), |to| to.line(&self.line));
        }
    }
}

impl fmt::Debug for LineWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineWriter").field("len", &self.line.len()).finish_non_exhaustive()
    }
}
