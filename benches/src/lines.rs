//! Records of `log` as lines, in `env_logger`, which discards them.

use core::hint::black_box;
use std::io;
use std::sync::OnceLock;

use env_logger::fmt::TimestampPrecision;
use env_logger::{Builder, Logger, Target};
use log::kv::{ToValue, Value};
use log::{Level, LevelFilter, Log, Record};
use tach_log::{Json, Line, Logfmt};

use crate::{Group, Subject};

/// Returns the formats, `env_logger`'s default first.
pub(crate) fn group() -> Group {
    Group {
        name: "a line of log",
        subjects: vec![
            Subject {
                name: "env_logger's default",
                run: |iterations| {
                    static LOGGER: OnceLock<Logger> = OnceLock::new();
                    log(LOGGER.get_or_init(|| builder().build()), iterations);
                },
            },
            Subject {
                name: "env_logger's default in us",
                run: |iterations| {
                    static LOGGER: OnceLock<Logger> = OnceLock::new();
                    let micros = Some(TimestampPrecision::Micros);
                    let logger = LOGGER.get_or_init(|| builder().format_timestamp(micros).build());
                    log(logger, iterations);
                },
            },
            Subject {
                name: "tach Line",
                run: |iterations| {
                    static LOGGER: OnceLock<Logger> = OnceLock::new();
                    let logger = LOGGER
                        .get_or_init(|| builder().format(tach_log::write(Line::new())).build());
                    log(logger, iterations);
                },
            },
            Subject {
                name: "tach Json",
                run: |iterations| {
                    static LOGGER: OnceLock<Logger> = OnceLock::new();
                    let logger = LOGGER
                        .get_or_init(|| builder().format(tach_log::write(Json::new())).build());
                    log(logger, iterations);
                },
            },
            Subject {
                name: "tach Logfmt",
                run: |iterations| {
                    static LOGGER: OnceLock<Logger> = OnceLock::new();
                    let logger = LOGGER
                        .get_or_init(|| builder().format(tach_log::write(Logfmt::new())).build());
                    log(logger, iterations);
                },
            },
            Subject {
                name: "env_logger and an empty format",
                run: |iterations| {
                    static LOGGER: OnceLock<Logger> = OnceLock::new();
                    log(LOGGER.get_or_init(|| builder().format(|_, _| Ok(())).build()), iterations);
                },
            },
        ],
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.filter_level(LevelFilter::Info).target(Target::Pipe(Box::new(io::sink())));
    builder
}

/// Logs a message with an argument, an integer, a float and a text.
fn log(logger: &Logger, iterations: u64) {
    let fields: [(&str, Value<'_>); 3] = [
        ("id", 12_345_678_u64.to_value()),
        ("took", 0.123_456.to_value()),
        ("user", "ada".to_value()),
    ];
    for number in 0..iterations {
        let number = black_box(number);
        let mut record = Record::builder();
        let record = record.level(Level::Info).target("app::db").key_values(&fields);
        logger.log(&record.args(format_args!("query {number} was answered")).build());
    }
}
