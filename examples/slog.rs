//! slog: each record as text by slog-term and as JSON by slog-json, both with tach's time.
//!
//! ```text
//! cargo run --example slog
//! ```

use std::io;
use std::sync::Mutex;

use slog::{Drain, Duplicate, Logger, o};
use slog_json::Json;
use slog_term::{FullFormat, PlainSyncDecorator};
use tach_log::Timestamp;

fn main() {
    let text = FullFormat::new(PlainSyncDecorator::new(io::stderr()))
        .use_custom_timestamp(|out| write!(out, "{}", Timestamp::new()))
        .build();
    let json = Json::new(io::stdout())
        .add_key_value(o!("ts" => Timestamp::new()))
        .add_key_value(o!("msg" => slog::PushFnValue(|record, serializer| {
            serializer.emit(record.msg())
        })))
        .build();
    let both = Mutex::new(Duplicate::new(text, json).ignore_res());
    let logger = Logger::root(both.fuse(), o!("service" => "example"));
    slog::info!(logger, "ready"; "port" => 3000);
    slog::warn!(logger, "a record has two sinks");
}
