//! The flush before a signal ends the process.

use core::time::Duration;
use std::io;
use std::sync::{Arc, Weak};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::error::{Class, Error};
use crate::host;
use crate::pipeline::Pipeline;
use crate::shared::Shared;

impl Pipeline {
    /// Installs handlers of SIGINT and SIGTERM that flush the pipeline, wait at most `timeout`, and
    /// end the process as the signal does.
    ///
    /// The flush writes the records in the queues, and sends what is gathered for a collector at
    /// once: records, spans that have ended, and durations. `Tail` decides about the traces that it
    /// holds. A collector that can't be reached is tried again until `timeout`.
    ///
    /// For a program that handles these signals itself, this is not needed: it ends by an exit,
    /// which [flushes](crate::Builder::flush_at_exit). A child that was forked without `exec`
    /// ignores the signals, since `fork` does not copy the thread that waits for them. The handlers
    /// also take a signal that was ignored before, such as SIGINT of a shell's background job.
    ///
    /// # Errors
    ///
    /// If the handlers can't be installed, or their thread can't be started.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let pipeline = Pipeline::builder().build()?;
    /// pipeline.flush_on_signals(Duration::from_secs(5))?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn flush_on_signals(&self, timeout: Duration) -> Result<(), Error> {
        flush_on(self.shared(), timeout).map_err(Error::signals)
    }
}

/// Starts a thread that flushes the pipeline after a signal, and then ends the process as the
/// signal would have.
///
/// # Errors
///
/// If the handlers can't be installed, or the thread can't be started.
fn flush_on(pipeline: &Arc<Shared>, timeout: Duration) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let pipeline = Arc::downgrade(pipeline);
    host::spawn("tach-signals", move || {
        for signal in signals.forever() {
            // Without a pipeline left, nothing is queued.
            if let Some(pipeline) = Weak::upgrade(&pipeline) {
                pipeline.channel.exits();
                if pipeline.flush_at_end(timeout).is_err() {
                    pipeline.channel.print_left();
                }
            }
            let _ended = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

impl Error {
    fn signals(error: io::Error) -> Self {
        let message = format!("can't handle SIGINT and SIGTERM: {error}");
        Self::other(Class::Other, message, Some(error))
    }
}
