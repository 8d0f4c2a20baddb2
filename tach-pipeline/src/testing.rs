//! Captures the records that a test logs.

use core::cell::RefCell;
use core::fmt;
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use log::{LevelFilter, Log, Metadata, Record};
use tach_core::{ManualClock, UnixTime};
use tach_log::adapter::write_plain;
use tach_log::{Event, Format, Line, Value};

use crate::pipeline::Pipeline;
use crate::sink::Sink;

/// How long a capture waits for the back end's thread on a machine that is busy.
const LONGEST: Duration = Duration::from_secs(60);
/// All records have this clock's time, so a test can compare whole lines.
static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

thread_local! {
    /// The pipelines of the captures that the thread is in, the innermost last.
    static CAPTURES: RefCell<Vec<Pipeline>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f`, and returns what this thread has logged meanwhile, through `log` and with the feature
/// `tracing` through tracing: all levels and all targets.
///
/// Tests that capture run in parallel, and within another capture the innermost one has the
/// records. Records of other threads are not captured: let a runtime of one thread run the futures
/// of an asynchronous test.
///
/// # Panics
///
/// If `f` panics, or if the process has another logger of `log`, since that has the records.
///
/// # Examples
///
/// ```
/// use tach_pipeline::testing::capture;
///
/// let captured = capture(|| log::warn!(target: "app", user = 7; "refused"));
/// assert_eq!(captured.to_string(), " WARN app: refused user=7\n");
/// assert_eq!(captured.records()[0].field("user"), Some("7"));
/// ```
#[must_use]
pub fn capture(f: impl FnOnce()) -> Captured {
    install();
    let records = Records::default();
    let guard = Pipeline::builder()
        .sink(Sink::writer("capture", io::sink()).format(records.clone()))
        .filter("trace")
        .with_clock(&CLOCK)
        .without_flush_at_exit()
        .build()
        .expect("a pipeline without files starts");
    within(guard.pipeline(), f);
    guard.pipeline().flush(LONGEST).expect("the back end writes what was logged");
    let records = core::mem::take(&mut *records.lock());
    Captured { records }
}

/// Makes the detour the logger of `log`.
fn install() {
    static IS_OURS: OnceLock<bool> = OnceLock::new();
    let is_ours = *IS_OURS.get_or_init(|| {
        let is_ours = log::set_logger(&Detour).is_ok();
        if is_ours {
            log::set_max_level(LevelFilter::Trace);
        }
        is_ours
    });
    assert!(
        is_ours,
        "log has another logger, which has the records: remove its init from the tests"
    );
}

/// Runs `f` while this thread logs to the pipeline.
fn within(pipeline: &Pipeline, f: impl FnOnce()) {
    struct Entered;
    impl Drop for Entered {
        fn drop(&mut self) {
            CAPTURES.with_borrow_mut(Vec::pop);
        }
    }
    CAPTURES.with_borrow_mut(|captures| captures.push(pipeline.clone()));
    let _entered = Entered;
    #[cfg(feature = "tracing")]
    let _subscriber = tracing::subscriber::set_default(pipeline.subscriber());
    f();
}

/// The logger of `log` that passes a thread's records to its capture.
struct Detour;

impl Detour {
    fn innermost() -> Option<Pipeline> {
        // A destructor of another thread-local may log after this one is destroyed.
        let innermost = CAPTURES.try_with(|captures| captures.borrow().last().cloned());
        innermost.ok().flatten()
    }
}

impl Log for Detour {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        Self::innermost().is_some()
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(pipeline) = Self::innermost() {
            pipeline.log(record);
        }
    }

    fn flush(&self) {}
}

/// A format that keeps the records.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<CapturedRecord>>>);

impl Records {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<CapturedRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Format for Records {
    fn write(&self, event: &Event<'_>, _: &mut Vec<u8>) -> io::Result<()> {
        let mut line = Vec::new();
        Line::tracing().without_time().write(event, &mut line)?;
        let mut fields = Vec::new();
        event.fields(|key, value| {
            fields.push((key.to_owned(), text(value)));
            Ok(())
        })?;
        self.lock().push(CapturedRecord {
            level: event.level_name(),
            target: event.target().to_owned(),
            message: event.message().to_owned(),
            fields,
            line: String::from_utf8_lossy(&line).into_owned(),
        });
        Ok(())
    }
}

/// Returns a value as the program has printed it, without quotes and escapes.
fn text(value: Value<'_>) -> String {
    let mut text = Vec::new();
    match value {
        Value::Str(text) => return text.to_owned(),
        value => write_plain(&mut text, value),
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The records of a [`capture`]. It prints the lines as `tracing_subscriber::fmt` does, without times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    records: Vec<CapturedRecord>,
}

impl Captured {
    /// Returns the records, in the order of their calls.
    ///
    /// # Examples
    ///
    /// ```
    /// let captured = tach_pipeline::testing::capture(|| log::info!("ready"));
    /// assert_eq!(captured.records().len(), 1);
    /// ```
    #[must_use]
    pub fn records(&self) -> &[CapturedRecord] {
        &self.records
    }
}

impl fmt::Display for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.records.iter().try_for_each(|record| f.write_str(&record.line))
    }
}

/// A record of a [`capture`]. It prints its line, with the line's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedRecord {
    level: &'static str,
    target: String,
    message: String,
    fields: Vec<(String, String)>,
    line: String,
}

impl CapturedRecord {
    /// Returns the level, such as `WARN`.
    ///
    /// # Examples
    ///
    /// ```
    /// let captured = tach_pipeline::testing::capture(|| log::warn!("full"));
    /// assert_eq!(captured.records()[0].level(), "WARN");
    /// ```
    #[must_use]
    pub const fn level(&self) -> &'static str {
        self.level
    }

    /// Returns the target, by default the module.
    ///
    /// # Examples
    ///
    /// ```
    /// let captured = tach_pipeline::testing::capture(|| log::warn!(target: "disk", "full"));
    /// assert_eq!(captured.records()[0].target(), "disk");
    /// ```
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Returns the message.
    ///
    /// # Examples
    ///
    /// ```
    /// let captured = tach_pipeline::testing::capture(|| log::warn!("{} is full", "/var"));
    /// assert_eq!(captured.records()[0].message(), "/var is full");
    /// ```
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the value of a field of the record or of the spans around it, as text, or `None` if
    /// there is no field of this name.
    ///
    /// # Examples
    ///
    /// ```
    /// let captured = tach_pipeline::testing::capture(|| log::warn!(free = 0; "full"));
    /// assert_eq!(captured.records()[0].field("free"), Some("0"));
    /// ```
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
    }
}

impl fmt::Display for CapturedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}
