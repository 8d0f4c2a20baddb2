//! `tracing_subscriber::fmt`: lines that it has formatted.

use core::fmt;
use std::io;

use tracing_core::Metadata;
use tracing_subscriber::fmt::MakeWriter;

use super::fields::level;
use crate::channel::current_thread;
use crate::frame::{MaybeStatic, Writer};
use crate::level::Level;
use crate::pipeline::Pipeline;

impl Pipeline {
    /// Returns a `MakeWriter` for `with_writer` of `tracing_subscriber::fmt`, whose lines the
    /// pipeline writes.
    ///
    /// The formats of `tach-log` write such a line unchanged. Other formats, such as
    /// [`JournalExport`](crate::JournalExport), receive the line as an event's message.
    ///
    /// `tracing_subscriber::fmt` does not escape line ends in messages, so an event may take
    /// several lines, and the caller formats the event. The [`Pipeline`] as a `Layer` is faster,
    /// and an event is one line.
    ///
    /// Levels and filters apply if the subscriber passes the event's metadata.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    /// use tracing_subscriber::prelude::*;
    ///
    /// let guard = Pipeline::builder().sink(Sink::stderr()).build()?;
    /// let lines = tracing_subscriber::fmt::layer().with_writer(guard.pipeline().make_writer());
    /// tracing_subscriber::registry().with(lines).init();
    /// tracing::info!("ready");
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn make_writer(&self) -> impl for<'a> MakeWriter<'a> + Clone + fmt::Debug + use<> {
        Lines(self.clone())
    }
}

/// Makes writers for lines. The [`Pipeline`] itself is none: if it were, `with_filter` of a layer
/// would be ambiguous for it wherever the prelude of tracing-subscriber is imported.
#[derive(Debug, Clone)]
struct Lines(Pipeline);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> LineWriter<'a> {
        LineWriter::new(&self.0, Level::of(log::Level::Error), "")
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> LineWriter<'a> {
        let (level, target) = (level(metadata), metadata.target());
        LineWriter::new(&self.0, level, target)
    }
}

/// Collects a line, and logs it when dropped.
struct LineWriter<'a> {
    pipeline: &'a Pipeline,
    level: Level,
    is_enabled: bool,
    line: Vec<u8>,
}

impl<'a> LineWriter<'a> {
    fn new(pipeline: &'a Pipeline, level: Level, target: &str) -> Self {
        let is_enabled = pipeline.known().filters.enabled(level, target);
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

    /// Does nothing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LineWriter<'_> {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
            let line = String::from_utf8_lossy(line);
            let shared = self.pipeline.shared();
            let (time, no_target) = (shared.time(), MaybeStatic::Static(""));
            let mut scratch = current_thread::take_scratch();
            let mut to = Writer::begin(&mut scratch, time, self.level, no_target);
            to.line(&line);
            to.end();
            shared.log(self.level, scratch);
        }
    }
}

impl fmt::Debug for LineWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineWriter").field("len", &self.line.len()).finish_non_exhaustive()
    }
}
