//! Loggers that write the same event to a file, each with a number, a float and a text.

mod quill;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, process};

use slog::{Drain as _, Logger, o};
use tach_log::{Format, Json, Line, Logfmt};
use tach_pipeline::{Builder, Guard, Pipeline, Sink};
use tracing::Dispatch;
use tracing_subscriber::layer::SubscriberExt as _;

/// A logger.
#[expect(missing_debug_implementations, reason = "functions print as addresses")]
pub struct Subject {
    /// Its name, its front end and its format.
    pub name: &'static str,
    /// Opens it with a file.
    pub open: fn(&Path) -> Opened,
}

/// A logger that is open.
#[expect(missing_debug_implementations, reason = "closures do not print")]
pub struct Opened {
    /// Logs the event with a number.
    pub log: Box<dyn Fn(u64) + Send + Sync>,
    /// Logs a message without fields.
    pub message: Box<dyn Fn(&str) + Send + Sync>,
    /// Writes everything, and ends the logger.
    pub close: Box<dyn FnOnce()>,
}

/// Returns the subject with this name. Ends the process if there is none.
#[must_use]
pub fn named(name: &str) -> &'static Subject {
    SUBJECTS.iter().find(|known| known.name == name).unwrap_or_else(|| {
        let names: Vec<_> = SUBJECTS.iter().map(|known| known.name).collect();
        eprintln!("\"{name}\" is not a subject; these are: {}", names.join("; "));
        process::exit(2);
    })
}

/// Measures one thing in a process of its own, since a process has one global subscriber of
/// `tracing`.
///
/// # Panics
///
/// If the process fails.
#[must_use]
pub fn in_a_process(name: &str, what: &str) -> String {
    let this = env::current_exe().expect("this program");
    let child = Command::new(this).args([name, what]).stderr(Stdio::inherit()).output();
    let child = child.expect("it starts again");
    assert!(child.status.success(), "{name}, {what}: {}", child.status);
    String::from_utf8_lossy(&child.stdout).trim().to_owned()
}

/// All loggers.
static SUBJECTS: &[Subject] = &[
    Subject { name: "tach slog, JSON", open: tach_slog },
    Subject { name: "tach tracing, JSON", open: tach_tracing },
    Subject { name: "tach log, JSON", open: |path| tach_log(path, Json::new()) },
    Subject { name: "tach log, text", open: |path| tach_log(path, Line::new()) },
    Subject { name: "tach log, logfmt", open: |path| tach_log(path, Logfmt::new()) },
    Subject { name: "nothing, slog", open: |_| slog_to(slog::Discard, || {}) },
    Subject { name: "slog-json behind slog-async", open: slog_async },
    Subject { name: "spdlog-rs, asynchronous, text", open: spdlog },
    Subject { name: "tracing JSON through tracing-appender", open: tracing_appender },
    Subject { name: QUILL, open: quill::open },
];

const QUILL: &str = "quill (C++), text";

/// Returns the loggers that can be measured: quill only if its library was built.
pub fn subjects() -> impl Iterator<Item = &'static Subject> {
    SUBJECTS.iter().filter(|subject| subject.name != QUILL || quill::is_built())
}

/// Opens the pipeline behind `log` with so many sinks, each with a file and the same format.
///
/// # Panics
///
/// If a file can't be opened.
#[must_use]
pub fn with_sinks(paths: &[PathBuf]) -> Opened {
    let sinks = paths.iter().map(|path| Sink::file(path).format(Json::new()));
    let builder = sinks.fold(Pipeline::builder(), Builder::sink);
    of_log(builder.build().expect("files"))
}

fn pipeline(path: &Path, format: impl Format + Send + 'static) -> Guard {
    Pipeline::builder().sink(Sink::file(path).format(format)).build().expect("a file")
}

fn tach_slog(path: &Path) -> Opened {
    let guard = pipeline(path, Json::new());
    slog_to(guard.clone(), || drop(guard))
}

fn slog_to<D>(drain: D, close: impl FnOnce() + 'static) -> Opened
where
    D: slog::SendSyncUnwindSafeDrain<Ok = (), Err = slog::Never>
        + slog::SendSyncRefUnwindSafeDrain<Ok = (), Err = slog::Never>
        + 'static,
{
    let logger = Logger::root(drain, o!());
    let other = logger.clone();
    Opened {
        message: Box::new(move |text| slog::info!(other, "{}", text)),
        log: Box::new(move |number| {
            slog::info!(logger, "request done"; "number" => number, "took" => 0.25, "path" => "/index.html");
        }),
        close: Box::new(close),
    }
}

fn tach_log(path: &Path, format: impl Format + Send + 'static) -> Opened {
    of_log(pipeline(path, format))
}

fn of_log(guard: Guard) -> Opened {
    let pipeline = guard.clone();
    log::set_max_level(pipeline.max_level());
    let other = pipeline.clone();
    Opened {
        message: Box::new(move |text| log::info!(logger: other, "{text}")),
        log: Box::new(move |number| {
            log::info!(logger: pipeline, number, took = 0.25, path = "/index.html"; "request done");
        }),
        close: Box::new(|| drop(guard)),
    }
}

fn tach_tracing(path: &Path) -> Opened {
    let guard = pipeline(path, Json::new());
    tracing_to(tracing_subscriber::registry().with(guard.clone()).into(), || drop(guard))
}

fn tracing_to(dispatch: Dispatch, close: impl FnOnce() + 'static) -> Opened {
    tracing::dispatcher::set_global_default(dispatch).expect("the process has no other");
    Opened {
        message: Box::new(|text| tracing::info!("{text}")),
        log: Box::new(|number| {
            tracing::info!(number, took = 0.25, path = "/index.html", "request done");
        }),
        close: Box::new(close),
    }
}

fn tracing_appender(path: &Path) -> Opened {
    let file = File::create(path).expect("a file");
    let (writer, guard) =
        tracing_appender::non_blocking::NonBlockingBuilder::default().lossy(false).finish(file);
    let subscriber = tracing_subscriber::fmt().json().with_writer(writer).finish();
    tracing_to(subscriber.into(), || drop(guard))
}

fn slog_async(path: &Path) -> Opened {
    let drain =
        slog_json::Json::default(std::io::BufWriter::new(File::create(path).expect("a file")));
    let (drain, guard) = slog_async::Async::new(drain.fuse())
        .overflow_strategy(slog_async::OverflowStrategy::Block)
        .chan_size(8192)
        .build_with_guard();
    slog_to(drain.fuse(), || drop(guard))
}

fn spdlog(path: &Path) -> Opened {
    use std::sync::Arc;

    use spdlog::sink::{AsyncPoolSink, FileSink};
    use spdlog::{ThreadPool, info};

    let file = FileSink::builder().path(path).build_arc().expect("a file");
    let pool = Arc::new(ThreadPool::builder().build().expect("a thread"));
    let sink = AsyncPoolSink::builder().sink(file).thread_pool(pool).build_arc().expect("a sink");
    let logger = Arc::new(spdlog::Logger::builder().sink(sink).build().expect("a logger"));
    let (kept, other) = (Arc::clone(&logger), Arc::clone(&logger));
    Opened {
        message: Box::new(move |text| info!(logger: other, "{text}")),
        log: Box::new(move |number| {
            info!(logger: logger, "request done", kv: { number, took = 0.25, path = "/index.html" });
        }),
        close: Box::new(move || {
            kept.flush();
            drop(kept);
        }),
    }
}

/// Returns a path for the log of this process.
#[must_use]
pub fn path() -> PathBuf {
    env::temp_dir().join(format!("tach-benches-pipeline-{}.log", process::id()))
}
