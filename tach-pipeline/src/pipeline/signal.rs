//! The flush before a signal ends the process.

use core::time::Duration;
use std::io;
use std::sync::{Arc, Weak};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::error::{Class, Error};
use crate::shared::Shared;

/// Starts a thread that flushes the pipeline after a signal, and then ends the process as the
/// signal would have.
///
/// # Errors
///
/// If the handlers can't be installed, or the thread can't be started.
pub(crate) fn flush_on(pipeline: &Arc<Shared>, timeout: Duration) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let pipeline = Arc::downgrade(pipeline);
    thread::Builder::new().name("tach-signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            // Without a pipeline left, nothing is queued.
            if let Some(pipeline) = Weak::upgrade(&pipeline) {
                let _too_late_to_report = pipeline.flush_at_end(timeout);
            }
            let _ended = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

impl Error {
    pub(super) fn signals(error: io::Error) -> Self {
        let message = format!("can't handle SIGINT and SIGTERM: {error}");
        Self::other(Class::Other, message, Some(error))
    }
}
