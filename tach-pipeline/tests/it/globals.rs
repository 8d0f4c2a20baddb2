//! The logger of `log` and the global subscriber of tracing. A process has one of each, so each
//! test runs a process of its own.
#![cfg(feature = "tracing")]

use std::{env, fs, process, thread};

use serde_json::{Value, json};
use tach_log::Json;
use tach_pipeline::{Builder, Pipeline, Sink};
use test_support::test_of_this_program;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::util::SubscriberInitExt as _;

#[cfg(unix)]
use crate::exits::fork as forks;
use crate::support::LONG;
#[cfg(feature = "tracing")]
use crate::support::subscriber;

const WAY: &str = "TACH_PIPELINE_GLOBAL_WAY";
const PATH: &str = "TACH_PIPELINE_GLOBAL_PATH";
const FILTER: &str = "TACH_PIPELINE_GLOBAL_FILTER";

/// Logs by both front ends.
fn log_all() {
    let _span = tracing::info_span!("span", a = 1).entered();
    log::info!(target: "by_log", key = 1; "info");
    log::debug!(target: "by_log", key = 2; "debug");
    log::error!(target: "quiet", "unseen");
    tracing::info!(target: "by_tracing", key = 3, "info");
    tracing::debug!(target: "by_tracing", key = 4, "debug");
    tracing::error!(target: "quiet", "unseen");
}

/// Not a test: the child process.
#[test]
#[ignore = "sets the globals of its process"]
fn child() {
    let (Ok(way), Ok(path)) = (env::var(WAY), env::var(PATH)) else { return };
    let builder = || -> Builder {
        let sink = Sink::file(&path).format(Json::new());
        Pipeline::builder().sink(sink).filter("info,quiet=off").filter_from_env(FILTER)
    };
    match &*way {
        "init" => {
            let pipeline = builder().init().unwrap();
            log_all();
            pipeline.set_filter("debug,quiet=off").unwrap();
            log_all();
            pipeline.set_filter("off").unwrap();
            assert_eq!(log::max_level(), log::LevelFilter::Off);
            assert_eq!(LevelFilter::current(), LevelFilter::OFF);
            log_all();
        }
        "init twice" => {
            builder().init().unwrap();
            let error = builder().init().unwrap_err();
            assert!(error.is_already_set(), "{error}");
            assert!(error.to_string().contains("tracing"), "{error}");
            log_all();
        }
        "init after a logger" => {
            log::set_logger(&NoLogger).unwrap();
            let error = builder().init().unwrap_err();
            assert!(error.is_already_set(), "{error}");
            assert!(error.to_string().contains("log"), "{error}");
            // Otherwise events would go to a pipeline that the program does not have.
            assert!(!tracing::dispatcher::has_been_set());
        }
        "init after a subscriber" => {
            tracing_subscriber::registry().init();
            let error = builder().init().unwrap_err();
            assert!(error.to_string().contains("tracing"), "{error}");
            // The subscriber of `init` has made itself the logger of `log`.
            assert_eq!(log::max_level(), log::LevelFilter::Trace);
        }
        "registry" => {
            let guard = builder().build().unwrap();
            subscriber(guard.pipeline()).init();
            log_all();
            guard.pipeline().set_filter("debug,quiet=off").unwrap();
            log_all();
        }
        "set_logger, then registry" => {
            let guard = builder().build().unwrap();
            guard.pipeline().set_logger().unwrap();
            // This sets the subscriber, but no second logger.
            subscriber(guard.pipeline()).try_init().unwrap_err();
            log_all();
        }
        "filter of another thread's subscriber" => {
            let guard = builder().build().unwrap();
            let pipeline = guard.pipeline();
            tracing::dispatcher::with_default(&subscriber(pipeline), || {
                let of_no_subscriber = || pipeline.set_filter("debug,quiet=off").unwrap();
                log_all();
                thread::scope(|scope| scope.spawn(of_no_subscriber).join().unwrap());
                log_all();
            });
        }
        "init by a variable" => {
            builder().init().unwrap();
            log_all();
        }
        "a variable with a fault" => {
            let error = builder().strict_environment().init().unwrap_err();
            assert!(error.is_option(), "{error}");
            assert!(error.to_string().contains("loud"), "{error}");
            builder().init().unwrap();
            log_all();
        }
        #[cfg(unix)]
        "fork" => {
            builder().init().unwrap();
            let span = tracing::info_span!("span", a = 1, b = tracing::field::Empty);
            log_all();
            forks::in_child(|| {
                log::info!(target: "by_log", key = 0; "info");
                // This pipeline takes the place of the one that the record has started. Its filter
                // refuses the events of `log_all` that the parent's accepts.
                let pipeline = builder().filter("debug,quiet=off").init().unwrap();
                log_all();
                span.record("b", 2);
                span.in_scope(|| tracing::info!(target: "by_tracing", key = 5, "info"));
                // A pipeline of this process is installed now.
                assert!(builder().init().unwrap_err().is_already_set());
                // Three generations.
                forks::in_child(|| {
                    let pipeline = builder().init().unwrap();
                    log::info!(target: "by_log", key = 6; "info");
                    pipeline.flush(LONG).is_ok()
                });
                pipeline.flush(LONG).is_ok()
            });
        }
        way => panic!("no such way: {way}"),
    }
}

struct NoLogger;

impl log::Log for NoLogger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        false
    }

    fn log(&self, _: &log::Record<'_>) {}

    fn flush(&self) {}
}

/// Runs a child, and returns the records without their times.
fn run(way: &str, filter: &str) -> Vec<Value> {
    let name = format!("tach-pipeline-global-{}-{}.log", way.replace(' ', "-"), process::id());
    let path = env::temp_dir().join(name);
    let mut child = test_of_this_program("globals::child");
    let output = child.env(WAY, way).env(PATH, &path).env(FILTER, filter).output().unwrap();
    assert!(output.status.success(), "{way}: {output:?}");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let _never_made = fs::remove_file(&path);
    let records = text.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().remove("ts").unwrap();
        record
    });
    records.collect()
}

fn by_log(level: &str, message: &str, key: u8) -> Value {
    json!({"level": level, "target": "by_log", "msg": message, "key": key, "span": "span", "a": 1})
}

fn by_log_outside(level: &str, message: &str, key: u8) -> Value {
    json!({"level": level, "target": "by_log", "msg": message, "key": key})
}

fn by_tracing(level: &str, message: &str, key: u8) -> Value {
    json!({"level": level, "target": "by_tracing", "msg": message, "key": key, "span": "span", "a": 1})
}

/// The bridge does not forward keys, and its events happen within spans.
fn forwarded(level: &str, message: &str) -> Value {
    json!({"level": level, "target": "by_log", "msg": message, "span": "span", "a": 1})
}

#[test]
fn init_sets_both_front_ends_and_the_filter_changes_both() {
    let info = [by_log("INFO", "info", 1), by_tracing("INFO", "info", 3)];
    let debug = [
        by_log("INFO", "info", 1),
        by_log("DEBUG", "debug", 2),
        by_tracing("INFO", "info", 3),
        by_tracing("DEBUG", "debug", 4),
    ];
    assert_eq!(run("init", ""), [&info[..], &debug[..]].concat());
    assert_eq!(run("init twice", ""), info);
    // No logger of `log` is installed.
    let events = [&info[1..], &[by_tracing("INFO", "info", 3), by_tracing("DEBUG", "debug", 4)]];
    assert_eq!(run("filter of another thread's subscriber", ""), events.concat());
    assert_eq!(run("init after a logger", ""), [Value::Null; 0]);
    assert_eq!(run("init after a subscriber", ""), [Value::Null; 0]);
}

/// The parent writes when it ends: both append to one file.
#[cfg(unix)]
#[test]
fn what_is_global_follows_the_pipeline_that_a_forked_child_builds() {
    let mut records = run("fork", "");
    let order = |record: &Value| (record["msg"].to_string(), record["key"].as_u64());
    records.sort_by_key(order);
    let span = json!({"level": "INFO", "target": "by_tracing", "msg": "info", "key": 5, "span": "span", "a": 1, "b": 2});
    let expected = [
        by_log("DEBUG", "debug", 2),
        by_tracing("DEBUG", "debug", 4),
        by_log_outside("INFO", "info", 0),
        by_log("INFO", "info", 1),
        by_log("INFO", "info", 1),
        by_tracing("INFO", "info", 3),
        by_tracing("INFO", "info", 3),
        span,
        by_log_outside("INFO", "info", 6),
    ];
    assert_eq!(records, expected);
}

#[test]
fn a_variable_replaces_the_filter() {
    // The filter refuses the span.
    let record = by_log_outside("INFO", "info", 1);
    for (way, filter) in
        [("init by a variable", "by_log=info"), ("a variable with a fault", "app=loud,by_log=info")]
    {
        assert_eq!(run(way, filter), core::slice::from_ref(&record), "{way}");
    }
}

#[test]
fn records_that_tracing_log_forwards_keep_their_targets_and_filters() {
    let expected = [
        forwarded("INFO", "info"),
        by_tracing("INFO", "info", 3),
        forwarded("INFO", "info"),
        forwarded("DEBUG", "debug"),
        by_tracing("INFO", "info", 3),
        by_tracing("DEBUG", "debug", 4),
    ];
    assert_eq!(run("registry", ""), expected);
}

#[test]
fn a_registry_after_the_logger_logs_records_once_and_with_their_keys() {
    let expected = [by_log("INFO", "info", 1), by_tracing("INFO", "info", 3)];
    assert_eq!(run("set_logger, then registry", ""), expected);
}
