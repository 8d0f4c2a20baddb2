//! Panics: a flush after each, and a record of each.

use core::any::Any;
use core::panic::Location;
use core::time::Duration;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, PanicHookInfo};
use std::sync::Arc;
use std::thread;

use crate::channel::wake::is_any_back_end;
use crate::frame::texts::MaybeStatic;
use crate::frame::{Place, Writer};
use crate::level::Level;
use crate::pipeline::Pipeline;
use crate::shared::Shared;

const TARGET: &str = "panic";

impl Pipeline {
    /// Installs a panic hook that calls the old hook, then flushes the pipeline and waits at most
    /// `timeout`, even if the panic is caught.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let pipeline = Pipeline::builder().build()?;
    /// pipeline.flush_on_panic(Duration::from_secs(1));
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn flush_on_panic(&self, timeout: Duration) {
        flush_on_panic(self.shared(), timeout);
    }

    /// Installs a panic hook that logs each panic, and then calls the old hook.
    ///
    /// The record has the level `ERROR`, the target `panic` and a message such as
    /// `thread 'main' panicked: index out of bounds`. Its fields are `location` and, if the
    /// environment sets `RUST_BACKTRACE`, `backtrace`. Panics of sinks are not logged.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let pipeline = Pipeline::builder().build()?;
    /// pipeline.log_panics();
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn log_panics(&self) {
        let before = panic::take_hook();
        let shared = Arc::downgrade(self.shared());
        panic::set_hook(Box::new(move |info| {
            if let Some(shared) = shared.upgrade() {
                log(&shared, info);
            }
            before(info);
        }));
    }
}

pub(crate) fn flush_on_panic(shared: &Arc<Shared>, timeout: Duration) {
    let before = panic::take_hook();
    let shared = Arc::downgrade(shared);
    panic::set_hook(Box::new(move |info| {
        before(info);
        if let Some(shared) = shared.upgrade() {
            let _too_late_to_report = shared.flush_at_end(timeout);
        }
    }));
}

fn log(shared: &Shared, info: &PanicHookInfo<'_>) {
    // A sink that panics at a record would panic at the record of the panic.
    if is_any_back_end() || !shared.filters.enabled(log::Level::Error.into(), TARGET) {
        return;
    }
    let level = Level::of(log::Level::Error);
    let target = MaybeStatic::Static(TARGET);
    shared.log_begun(
        level,
        |scratch, time| Writer::begin(scratch, time, level, target),
        |to| {
            let thread = thread::current();
            let (name, payload) = (thread.name().unwrap_or("<unnamed>"), text(info.payload()));
            to.printed_message(format_args!("thread '{name}' panicked: {payload}"));
            if let Some(location) = info.location() {
                to.printed_field(MaybeStatic::Static("location"), format_args!("{location}"));
            }
            let backtrace = Backtrace::capture();
            if backtrace.status() == BacktraceStatus::Captured {
                to.printed_field(MaybeStatic::Static("backtrace"), format_args!("{backtrace}"));
            }
            let place = Place {
                file: MaybeStatic::Borrowed(info.location().map_or("", |location| location.file())),
                line: info.location().map_or(0, Location::line),
                module: MaybeStatic::Static(""),
            };
            shared.site(to, place, shared.spans.around());
        },
    );
}

fn text(payload: &dyn Any) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("Box<dyn Any>")
}
