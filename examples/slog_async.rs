//! slog-async, whose worker writes late: alone with the time of writing, between tach's drains with
//! the time of the call.
//!
//! ```text
//! cargo run --example slog_async
//! ```
//!
//! prints, for records that are logged at once,
//!
//! ```text
//! slog-async alone:
//! 2026-11-21T14:43:44.210544Z INFO answered, number: 1
//! 2026-11-21T14:43:44.240747Z INFO answered, number: 2
//! 2026-11-21T14:43:44.270924Z INFO answered, number: 3
//! between two EventTimes:
//! 2026-11-21T14:43:44.301259Z INFO answered, number: 1
//! 2026-11-21T14:43:44.301352Z INFO answered, number: 2
//! 2026-11-21T14:43:44.301355Z INFO answered, number: 3
//! ```

use core::result;
use core::time::Duration;
use std::io::{self, Write};
use std::thread;

use slog::{Drain, Logger, Never, OwnedKVList, Record, info, o};
use slog_async::Async;
use slog_term::{FullFormat, PlainSyncDecorator};
use tach_log::{EventTime, Timestamp};

/// A drain as slow as a network or a full disk.
struct Slow<D>(D);

impl<D: Drain> Drain for Slow<D> {
    type Ok = D::Ok;
    type Err = D::Err;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> result::Result<D::Ok, D::Err> {
        let result = self.0.log(record, values);
        thread::sleep(Duration::from_millis(30));
        result
    }
}

fn slow() -> impl Drain<Ok = (), Err = Never> + Send {
    let term = FullFormat::new(PlainSyncDecorator::new(io::stdout()))
        .use_custom_timestamp(|out| write!(out, "{}", Timestamp::new()))
        .build();
    Slow(term.fuse())
}

fn main() -> io::Result<()> {
    let alone = Async::new(slow()).build().fuse();
    let ours = EventTime::new(Async::new(EventTime::new(slow())).build()).carried().fuse();

    writeln!(io::stdout(), "slog-async alone:")?;
    log_three(Logger::root(alone, o!()));
    writeln!(io::stdout(), "between two EventTimes:")?;
    log_three(Logger::root(ours, o!()));
    Ok(())
}

/// Logs three records, and waits for the worker by dropping the logger.
#[expect(clippy::needless_pass_by_value, reason = "it is dropped here")]
fn log_three(log: Logger) {
    for number in 1..=3 {
        info!(log, "answered"; "number" => number);
    }
}
