//! Systemd's journal as a sink.

use std::sync::Arc;

use tach_sinks::Journald;

use super::{JournalExport, Sink, kind};

impl Sink {
    /// Writes to systemd's journal on this machine, in the format [`JournalExport`].
    ///
    /// `journalctl` prints the time at which an entry was sent, some milliseconds after the record:
    /// the journal accepts no other. Each entry is sent alone, so that entries have times of their
    /// own. `journalctl --output=verbose`, or `--output=json`, shows the record's time as
    /// `SYSLOG_TIMESTAMP`.
    ///
    /// If the journal can't be reached, the sink fails, and tries again.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let guard = Pipeline::builder().sink(Sink::journald()).build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn journald() -> Sink<kind::OneFormat> {
        stream(Journald::new()).map(|target| kind::OneFormat(Box::new(target)))
    }
}

/// Returns a sink of the journal if stderr is connected to it, and the journal is there.
pub(super) fn of_stderr() -> Option<Sink<kind::Stream>> {
    let mut sink = stream(Journald::of_stderr()?);
    // Ignore the sink's own format, which was chosen for stderr.
    sink.common.envelope = Some(Arc::new(|_| Arc::new(JournalExport::new())));
    Some(sink)
}

fn stream(journald: Journald) -> Sink<kind::Stream> {
    let writer = Box::new(journald);
    let sink = Sink::to(kind::Stream { name: "journald".to_owned(), writer });
    sink.any_format(Arc::new(JournalExport::new()))
}
