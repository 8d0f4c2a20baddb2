//! Loggers that write the same event to a file, each with a number, a float and a text.

mod emit;
mod of_log;
mod quill;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, process};

use slog::{Drain as _, Logger, o};
use tach_log::{Format, Json, Line, Logfmt};
use tach_pipeline::{Guard, Pipeline, Sink};
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

/// The first argument of a process that measures one thing, and of one that measures it quickly.
const MEASURE: [&str; 2] = ["measure", "measure-quickly"];

/// Returns what this process is to measure, if another one started it for that: the subject, the
/// thing, and whether quickly.
#[must_use]
pub fn to_measure(arguments: &[String]) -> Option<(&'static Subject, &str, bool)> {
    let [how, subject, what] = arguments else { return None };
    let quick = MEASURE.iter().position(|known| known == how)? == 1;
    Some((named(subject), what, quick))
}

/// Measures one thing in a process of its own, since a process has one global subscriber of
/// `tracing`.
///
/// # Panics
///
/// If the process fails.
#[must_use]
pub fn in_a_process(name: &str, what: &str, quick: bool) -> String {
    let this = env::current_exe().expect("this program");
    let mut child = Command::new(this);
    child.args([MEASURE[usize::from(quick)], name, what]).stderr(Stdio::inherit());
    let child = child.output().expect("it starts again");
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
    Subject { name: "fast_log, text", open: of_log::fast_log },
    Subject { name: "ftlog, text", open: of_log::ftlog },
    Subject { name: "log4rs, synchronous, JSON", open: of_log::log4rs },
    Subject { name: "logforth, asynchronous, JSON", open: of_log::logforth },
    Subject { name: "emit to emit_file, JSON", open: emit::open },
    Subject { name: QUILL, open: quill::open },
];

/// Loggers that a program may be killed with, each at its default for what it loses.
#[cfg(feature = "survive")]
pub static KILLED: &[Subject] = &[
    Subject { name: "tach log, survive, text", open: tach_survives },
    Subject { name: "tach log, text", open: |path| tach_log(path, Line::new()) },
    Subject { name: "spdlog-rs, asynchronous, flush_on every level, text", open: spdlog_flushes },
    Subject { name: "spdlog-rs, asynchronous, text", open: spdlog },
    Subject { name: "tracing text through tracing-appender", open: tracing_text },
    Subject { name: "slog-json behind slog-async", open: slog_unbuffered },
];

#[cfg(feature = "survive")]
fn tach_survives(path: &Path) -> Opened {
    let folder = path.with_extension("survivors");
    of_log(Pipeline::builder().sink(Sink::file(path)).survive(folder).build().expect("a file"))
}

const QUILL: &str = "quill (C++), text";

/// Returns the loggers that can be measured: quill only if its library was built.
pub fn subjects() -> impl Iterator<Item = &'static Subject> {
    SUBJECTS.iter().filter(|subject| subject.name != QUILL || quill::is_built())
}

fn pipeline(path: &Path, format: impl Format + Send + Sync + 'static) -> Guard {
    Pipeline::builder().sink(Sink::file(path).format(format)).build().expect("a file")
}

fn tach_slog(path: &Path) -> Opened {
    let guard = pipeline(path, Json::new());
    slog_to(guard.pipeline().clone(), || drop(guard))
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

fn tach_log(path: &Path, format: impl Format + Send + Sync + 'static) -> Opened {
    of_log(pipeline(path, format))
}

fn of_log(guard: Guard) -> Opened {
    let pipeline = guard.pipeline().clone();
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
    tracing_to(tracing_subscriber::registry().with(guard.pipeline().clone()).into(), || drop(guard))
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

#[cfg(feature = "survive")]
fn tracing_text(path: &Path) -> Opened {
    let (writer, guard) = non_blocking(path);
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish();
    tracing_to(subscriber.into(), || drop(guard))
}

fn non_blocking(
    path: &Path,
) -> (tracing_appender::non_blocking::NonBlocking, tracing_appender::non_blocking::WorkerGuard) {
    let file = File::create(path).expect("a file");
    tracing_appender::non_blocking::NonBlockingBuilder::default().lossy(false).finish(file)
}

fn tracing_appender(path: &Path) -> Opened {
    let (writer, guard) = non_blocking(path);
    let subscriber = tracing_subscriber::fmt().json().with_writer(writer).finish();
    tracing_to(subscriber.into(), || drop(guard))
}

#[cfg(feature = "survive")]
fn slog_unbuffered(path: &Path) -> Opened {
    // Unlike `BufWriter`, which slog-json is measured with, so that a line is written at once.
    slog_behind(slog_json::Json::default(File::create(path).expect("a file")))
}

fn slog_async(path: &Path) -> Opened {
    let file = std::io::BufWriter::new(File::create(path).expect("a file"));
    slog_behind(slog_json::Json::default(file))
}

fn slog_behind(drain: slog_json::Json<impl std::io::Write + Send + 'static>) -> Opened {
    let (drain, guard) = slog_async::Async::new(drain.fuse())
        .overflow_strategy(slog_async::OverflowStrategy::Block)
        .chan_size(8192)
        .build_with_guard();
    slog_to(drain.fuse(), || drop(guard))
}

fn spdlog(path: &Path) -> Opened {
    spdlog_with(path, spdlog::LevelFilter::Off)
}

#[cfg(feature = "survive")]
fn spdlog_flushes(path: &Path) -> Opened {
    spdlog_with(path, spdlog::LevelFilter::All)
}

fn spdlog_with(path: &Path, flushes: spdlog::LevelFilter) -> Opened {
    use std::sync::Arc;

    use spdlog::sink::{AsyncPoolSink, FileSink};
    use spdlog::{ThreadPool, info};

    let file = FileSink::builder().path(path).build_arc().expect("a file");
    let pool = Arc::new(ThreadPool::builder().build().expect("a thread"));
    let sink = AsyncPoolSink::builder().sink(file).thread_pool(pool).build_arc().expect("a sink");
    let mut logger = spdlog::Logger::builder();
    logger.sink(sink).flush_level_filter(flushes);
    let logger = Arc::new(logger.build().expect("a logger"));
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

/// Returns the files of a log: the path, or the files that a logger has named after it.
#[must_use]
pub fn files(path: &Path) -> Vec<PathBuf> {
    if path.exists() {
        return vec![path.to_owned()];
    }
    let stem = path.with_extension("");
    let folder = path.parent().and_then(|folder| fs::read_dir(folder).ok());
    let all = folder.into_iter().flatten().flatten().map(|entry| entry.path());
    all.filter(|file| file.to_string_lossy().starts_with(&*stem.to_string_lossy())).collect()
}

/// Removes the files of a log.
pub fn remove(path: &Path) {
    for file in files(path) {
        fs::remove_file(file).ok();
    }
}
