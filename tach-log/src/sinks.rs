//! Several loggers as one.

use core::fmt;

use log::{Log, Metadata, Record};

/// A logger that hands every record to each of several others, in the order in which they were added.
///
/// Each keeps its own filter. [`log::set_max_level`] has to be the most verbose of theirs.
///
/// # Examples
///
/// ```
/// use tach_log::{Sinks, Stamped};
///
/// let quiet = env_logger::Builder::new().filter_level(log::LevelFilter::Error).build();
/// let verbose = env_logger::Builder::new().filter_level(log::LevelFilter::Trace).build();
/// let logger = Stamped::new(Sinks::new().with(quiet).with(verbose));
/// ```
#[derive(Default)]
pub struct Sinks {
    sinks: Vec<Box<dyn Log>>,
}

impl Sinks {
    /// None yet.
    ///
    /// # Examples
    ///
    /// ```
    /// let sinks = tach_log::Sinks::new();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self { sinks: Vec::new() }
    }

    /// These and `sink`.
    ///
    /// # Examples
    ///
    /// ```
    /// let sinks = tach_log::Sinks::new().with(env_logger::Builder::new().build());
    /// ```
    #[must_use]
    pub fn with(mut self, sink: impl Log + 'static) -> Self {
        self.sinks.push(Box::new(sink));
        self
    }
}

impl Log for Sinks {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.sinks.iter().any(|sink| sink.enabled(metadata))
    }

    fn log(&self, record: &Record<'_>) {
        for sink in &self.sinks {
            sink.log(record);
        }
    }

    fn flush(&self) {
        for sink in &self.sinks {
            sink.flush();
        }
    }
}

/// Loggers need not be `Debug`.
impl fmt::Debug for Sinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sinks").field("len", &self.sinks.len()).finish_non_exhaustive()
    }
}
