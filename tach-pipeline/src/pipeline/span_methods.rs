//! The handle to a pipeline, for spans and the flight recorder.

use core::time::Duration;
use std::io;
use std::panic;
use std::sync::Arc;

use crate::durations::Collected;
use crate::durations::snapshot::SpanDurations;
use crate::error::Error;
use crate::host::to_stderr;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use tach_flight::FlightFormat;
use tach_flight::files::Cause;

impl Pipeline {
    /// Returns the number of the pipeline that this handle was built for, also if it logs to
    /// another one.
    pub(crate) fn id(&self) -> u64 {
        self.handle.own.spans.id
    }

    /// Returns how long the spans of tracing took, by name and [chosen attributes], since the
    /// pipeline was built, and the times that tach-http records. The list is empty unless
    /// [`Builder::durations`](crate::Builder::durations) or `Sink::otlp` collects durations, and in
    /// a forked process.
    ///
    /// Spans that ended a moment ago are missing until the back end has read their records. After a
    /// [`flush`](Self::flush) all are there.
    ///
    /// # Cost
    ///
    /// Copies the histograms, up to 2 KiB each. The back end waits meanwhile, callers do not.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Durations, Pipeline};
    ///
    /// let guard = Pipeline::builder().durations(Durations::new()).build()?;
    /// for spans in guard.pipeline().durations() {
    ///     println!("{} took {:?} at the median", spans.name(), spans.quantile(0.5));
    /// }
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    ///
    /// [chosen attributes]: crate::Durations::attribute
    #[must_use]
    pub fn durations(&self) -> Vec<SpanDurations> {
        let shared = self.known();
        // Don't take the lock in a forked process: the thread that holds it may exist only in the
        // parent.
        let durations = shared.spans.durations.as_ref().filter(|_| !shared.channel.is_forked());
        durations.map_or_else(Vec::new, Collected::snapshot)
    }

    /// Writes the content of the flight recorder: everything that was recorded before.
    ///
    /// This thread formats and writes, while the back end proceeds.
    ///
    /// # Errors
    ///
    /// If the back end does not answer within `timeout`, if the writer fails, in a forked process,
    /// and if the pipeline has no [flight recorder](crate::Builder::flight_recorder). In a sink,
    /// returns a timeout at once.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::{FlightFormat, FlightRecorder, Pipeline};
    ///
    /// let pipeline = Pipeline::builder().flight_recorder(FlightRecorder::new()).init()?;
    /// tracing::info_span!("work").in_scope(|| tracing::info!("done"));
    /// // For a file: `std::fs::File::create("work.json")?`.
    /// let mut trace = Vec::new();
    /// let format = FlightFormat::trace_events();
    /// pipeline.write_flight(&mut trace, &format, Duration::from_secs(5))?;
    /// # assert!(trace.len() > 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_flight(
        &self,
        mut to: impl io::Write,
        format: &FlightFormat,
        timeout: Duration,
    ) -> Result<(), Error> {
        let shared = self.known();
        let snapshot = shared.spans.snapshot(&shared.channel, timeout)?;
        format.write(&snapshot, &mut to).map_err(Error::record)
    }
}

/// Installs a panic hook that writes a file of the flight recorder.
pub(crate) fn dump_on_panic(shared: &Arc<Shared>) {
    let before = panic::take_hook();
    let shared = Arc::downgrade(shared);
    panic::set_hook(Box::new(move |info| {
        before(info);
        if let Some(shared) = shared.upgrade() {
            dump(&shared);
        }
    }));
}

/// Calls none of the user's code, since a panic in a panic hook ends the process.
fn dump(shared: &Shared) {
    let Some(flight) = &shared.spans.flight else { return };
    if shared.progress.signals.waker.is_back_end() || shared.channel.is_forked() {
        return;
    }
    let Some(files) = flight.files.as_ref().filter(|files| files.begin(Cause::Panic)) else {
        return;
    };
    let written = shared
        .spans
        .snapshot(&shared.channel, shared.flush_timeout)
        .and_then(|snapshot| files.write(&snapshot).map_err(Error::record));
    match written {
        Ok(path) => to_stderr(format_args!("the last spans and events are in {}", path.display())),
        Err(error) => {
            files.failed(Cause::Panic);
            to_stderr(format_args!("{error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use crate::frame::Wanted;
    use crate::pipeline::tests::alone;
    use crate::queue::WhenFull;

    /// While the ids are in the table, the span is open for the back end.
    #[test]
    fn a_lost_end_is_looked_for_after_its_ids_are_removed() {
        let wanted = Wanted { spans: true, ..Wanted::default() };
        let pipeline = alone(wanted, WhenFull::DropNewest);
        let contexts = &pipeline.shared().spans.contexts;
        let subscriber = tracing_subscriber::registry().with(pipeline.clone());
        tracing::subscriber::with_default(subscriber, || {
            drop(tracing::info_span!("found room"));
            assert!(!contexts.take_lost_end());
            let span = tracing::info_span!("found none");
            let [one, other] =
                [(); 2].map(|()| tracing::info_span!("values", late = tracing::field::Empty));
            (0..1_000).for_each(|_| drop(tracing::info_span!("fills the queue")));
            assert!(contexts.take_lost_end(), "what was within spans that are lost waits for them");
            // Records that are dropped leave nothing behind.
            for number in 0..2_000 {
                one.record("late", number);
                other.record("late", number);
            }
            drop((one, other));
            assert!(contexts.take_lost_end());
            assert!(!contexts.take_lost_end());
            drop(span);
            assert!(contexts.take_lost_end());
            contexts.open_spans(pipeline.shared().clock_time(), |_| panic!("a span is open"));
        });
    }
}
