//! Panics: a flush after each, and a record of each.

use core::panic::Location;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, PanicHookInfo};
use std::sync::Arc;
use std::thread;

use log::{Log as _, Record};

use crate::channel::wake::is_any_back_end;
use crate::pipeline::Pipeline;
use crate::report::panic_text;
use crate::shared::{Handle, Shared};

const TARGET: &str = "panic";

impl Pipeline {
    /// Installs a panic hook that calls the old hook, then flushes the pipeline, even if the
    /// panic is caught. Waits at most as long as
    /// [`Builder::flush_timeout`](crate::Builder::flush_timeout) sets.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// guard.pipeline().flush_on_panic();
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn flush_on_panic(&self) {
        flush_on_panic(self.shared());
    }

    /// Installs a panic hook that logs each panic, and then calls the old hook.
    ///
    /// The record has the level `ERROR`, the target `panic` and a message such as
    /// `thread 'main' panicked at src/main.rs:7:5: index out of bounds`, with a backtrace if the
    /// environment sets `RUST_BACKTRACE`. Panics of sinks are not logged.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// guard.pipeline().log_panics();
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn log_panics(&self) {
        let before = panic::take_hook();
        let alive = Arc::downgrade(&self.handle.alive);
        panic::set_hook(Box::new(move |info| {
            if let Some(alive) = alive.upgrade() {
                let handle = Handle { own: Arc::clone(&alive.0), alive };
                log(&Pipeline::with_handle(handle), info);
            }
            before(info);
        }));
    }
}

pub(crate) fn flush_on_panic(shared: &Arc<Shared>) {
    let before = panic::take_hook();
    let shared = Arc::downgrade(shared);
    panic::set_hook(Box::new(move |info| {
        before(info);
        if let Some(shared) = shared.upgrade() {
            let last = shared.last();
            let _too_late_to_report = last.flush_at_end(last.flush_timeout);
        }
    }));
}

fn log(pipeline: &Pipeline, info: &PanicHookInfo<'_>) {
    // Don't log a sink's own panic: the sink would panic again at the record of that panic.
    if is_any_back_end() {
        return;
    }
    let (thread, payload) = (thread::current(), panic_text(info.payload()));
    let name = thread.name().unwrap_or("<unnamed>");
    let place = info.location().map(|place| format!(" at {place}")).unwrap_or_default();
    let backtrace = match Backtrace::capture() {
        it if it.status() == BacktraceStatus::Captured => format!("\n{it}"),
        _ => String::new(),
    };
    let mut record = Record::builder();
    record.level(log::Level::Error).target(TARGET);
    record.file(info.location().map(Location::file)).line(info.location().map(Location::line));
    // Use the same path as `log`'s records: a second caller would cost that path its inlining.
    // Rust 1.85 has no variable of `format_args!`.
    pipeline.log(
        &record.args(format_args!("thread '{name}' panicked{place}: {payload}{backtrace}")).build(),
    );
}
