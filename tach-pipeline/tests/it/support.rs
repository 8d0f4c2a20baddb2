//! A sink in memory, and helpers.

#[cfg(unix)]
pub(crate) mod signals;
#[cfg(unix)]
pub(crate) mod terminal;

use core::fmt;
use core::time::Duration;
use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tach_log::Json;
use tach_pipeline::{Pipeline, Sink, kind};
use test_support::Captured;
#[cfg(feature = "tracing")]
use tracing::{Dispatch, dispatcher};
#[cfg(feature = "tracing")]
use tracing_subscriber::layer::SubscriberExt as _;
#[cfg(feature = "tracing")]
use tracing_subscriber::registry;

/// Long enough for any machine: no test fails by being slow.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Returns a subscriber of tracing with the pipeline alone: the pipeline's own, or with the
/// variable `TACH_ROAD=layer` a registry with the pipeline as its layer. Both must do the same.
#[cfg(feature = "tracing")]
pub(crate) fn subscriber(pipeline: &Pipeline) -> Dispatch {
    match env::var("TACH_ROAD").as_deref() {
        Ok("layer") => Dispatch::new(registry().with(pipeline.clone())),
        Ok(road) => panic!("TACH_ROAD={road}: unknown"),
        Err(_) => Dispatch::new(pipeline.subscriber()),
    }
}

/// Returns whether that subscriber is the pipeline's own.
#[cfg(feature = "tracing")]
pub(crate) fn is_own_road() -> bool {
    env::var_os("TACH_ROAD").is_none()
}

/// Calls `f` with that subscriber as the thread's.
#[cfg(feature = "tracing")]
pub(crate) fn in_subscriber<R>(pipeline: &Pipeline, f: impl FnOnce() -> R) -> R {
    dispatcher::with_default(&subscriber(pipeline), f)
}

/// The output, shared with the test.
#[derive(Clone, Default)]
pub(crate) struct Memory(Captured);

impl Memory {
    pub(crate) fn json(&self) -> Sink<kind::Stream> {
        Sink::writer("memory", self.clone()).format(Json::new())
    }

    pub(crate) fn text(&self) -> String {
        self.0.text()
    }

    /// Returns the lines, each parsed.
    pub(crate) fn records(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the messages of the records.
    pub(crate) fn messages(&self) -> Vec<String> {
        self.records().iter().map(|record| record["msg"].as_str().unwrap().to_owned()).collect()
    }
}

impl io::Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Logs a message at the level `Info`.
pub(crate) fn info(logger: &Pipeline, message: &str) {
    log::Log::log(
        logger,
        &log::Record::builder()
            .level(log::Level::Info)
            .target("app")
            .args(format_args!("{message}"))
            .build(),
    );
}

/// A value that logs when it is printed.
pub(crate) struct Talks<'a>(pub(crate) &'a Pipeline);

impl fmt::Display for Talks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        info(self.0, "from within");
        f.write_str("from around")
    }
}

/// A writer that calls `mood` before each write to the memory.
pub(crate) struct Moody<F> {
    pub(crate) memory: Memory,
    pub(crate) mood: F,
}

impl<F: FnMut() -> io::Result<()>> io::Write for Moody<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.mood)()?;
        self.memory.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a sink that logs so many records and flushes during its first two writes, by the
/// pipeline that is set.
pub(crate) fn talkative(
    memory: &Memory,
    records: usize,
) -> (Sink<kind::Stream>, Arc<OnceLock<Pipeline>>) {
    let handle = Arc::<OnceLock<Pipeline>>::default();
    let pipeline = Arc::clone(&handle);
    let mut left = 2;
    let mood = move || {
        if left > 0 {
            left -= 1;
            let pipeline = pipeline.get().unwrap();
            // More than its queue has room for: the rest is dropped, and no call waits.
            (0..records).for_each(|_| info(pipeline, "from the sink"));
            assert!(pipeline.flush(LONG).unwrap_err().is_timeout());
        }
        Ok(())
    };
    let moody = Moody { memory: memory.clone(), mood };
    (Sink::writer("talkative", moody).format(Json::new()), handle)
}

/// A new folder, removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tach-pipeline-{name}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    /// Returns the messages of lines for people.
    pub(crate) fn messages(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.0.join(file)).unwrap();
        text.lines().map(|line| line.rsplit_once(": ").unwrap().1.to_owned()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _best_effort = fs::remove_dir_all(&self.0);
    }
}
