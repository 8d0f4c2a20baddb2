//! A configuration from a file: the keys of a pipeline.

mod calls;
mod format;
#[cfg(feature = "otlp")]
mod otlp;
mod parsed;
mod sink;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use self::calls::{Calls, call, keys, turn_on};
use self::parsed::{End, Number, Parsed, Size};
use crate::pipeline::Pipeline;
use crate::pipeline::builder::Builder;
use crate::queue::WhenFull;

/// A pipeline's configuration from a file, in TOML, JSON, YAML or another self-describing format of
/// serde.
///
/// A key has its method's name and meaning. The error of an unknown key lists all.
///
/// - A method with one argument is a key with that argument: `queue_bytes = 65536` is
///   [`Builder::queue_bytes`].
/// - A method without arguments is `true`: `collapse_repeats = true`. `false` is like no key.
///   `colors` and `ids` have a method for each state, so `colors = false` is `without_colors`.
/// - A method with several arguments is a list of them: `flush_on = ["error", "1s"]`.
/// - A constructor is a key too, with a table of its options or `true`: `file.path = "app.log"`,
///   `stderr = true`. A format may also be its name: `format = "json"`.
///
/// A size is a number of bytes, or a text with a unit: `"64 KiB"`, or `"10 MB"` for 10,000,000. A
/// duration is a text with units: `"250ms"`, `"1h 30m"`. A mode is a text: `"640"`. In a path,
/// `${NAME}` is a variable of the environment, and `~/` the one named `HOME`. Names of enums are in
/// `snake_case`.
///
/// Each of `sinks` has one of the keys `stdout`, `stderr`, `file`, `journald`, `syslog` and `otlp`,
/// options of [`Sink`](crate::Sink), and a `format`: a constructor of [`Line`](tach_log::Line),
/// [`Json`](tach_log::Json), [`Logfmt`](tach_log::Logfmt) or
/// [`JournalExport`](crate::JournalExport). `with` has keys and their [parts](tach_log::Part): `with = { at = "time", service = { fixed = "shop" } }`.
///
/// The [`builder`](Self::builder) adds functions, clocks and options of spans. [`Pipeline::apply`]
/// takes changed files.
///
/// In your own configuration, make it a field: `#[serde(flatten)]` would accept unknown keys.
///
/// # Errors
///
/// The deserializer refuses a key that does not exist and a value that can't be read, with the path
/// of the key, such as `sinks[1].file.rotate`, and what would be right. [`Builder::build`] refuses
/// what can't work, with the sink's place in the file.
///
/// The format's crate may print the line that has a header's value: `otlp.from_env = true` reads
/// `OTEL_EXPORTER_OTLP_HEADERS` in place of the file.
///
/// # Examples
///
/// ```
/// use tach_pipeline::Config;
///
/// let text = r#"
///     filter = "info,app::db=debug"
///     when_full = "drop_oldest"
///     redact = ["password", "*token*"]
///
///     [[sinks]]
///     stderr = true
///     filter = "warn"
///
///     [[sinks]]
///     format.json.with = { service = { fixed = "shop" } }
///     file.path = "logs/app.log"
///     file.rotate = { daily = true, max_bytes = 100_000_000, keep_for = "14days" }
/// "#;
/// let config: Config = toml::from_str(text)?;
/// let guard = config.builder().filter_from_env("RUST_LOG").build()?;
/// # drop(guard);
/// # std::fs::remove_dir_all("logs")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Config(Builder);

impl Config {
    /// Returns a builder with these options, to which the program may add others. A method that is
    /// called afterwards replaces the value of its key; sinks and redacted keys are added.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Config;
    ///
    /// let config: Config = toml::from_str("queue_bytes = 1")?;
    /// let error = config.builder().build().unwrap_err();
    /// assert!(error.to_string().contains("Builder::queue_bytes(1)"));
    /// # Ok::<(), toml::de::Error>(())
    /// ```
    pub fn builder(self) -> Builder {
        self.0
    }
}

impl Default for Config {
    fn default() -> Self {
        Self(Pipeline::builder())
    }
}

/// Errors name the key by its path, in formats that print no path too.
impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let keys: Result<Calls<_>, _> = serde_path_to_error::deserialize(from);
        // Some formats end their messages with a line end.
        let keys = keys.map_err(|error| D::Error::custom(error.to_string().trim_end()))?;
        let written = keys.written().collect();
        let mut builder = keys.on(Pipeline::builder());
        builder.keys = written;
        Ok(Self(builder))
    }
}

keys! {
    Builder;
    calls {
        sinks = sink::add;
        flush_on = |to: Self, FlushOn(level, Parsed(timeout), End)| to.flush_on(level, timeout);
        before_errors = |to: Self, BeforeErrors(filter, Number(records), End)| {
            to.before_errors(filter, records)
        };
        redact = |to: Self, keys: Vec<String>| to.redact(keys);
        when_full = |to: Self, Policy(policy)| to.when_full(policy);
        #[cfg(feature = "survive")]
        survive = |to: Self, Parsed(folder): Parsed<std::path::PathBuf>| to.survive(folder);
    }
    texts filter filter_from_env;
    numbers rate_limit then_each;
    sizes queue_bytes max_record_bytes;
    parsed flush_interval flush_timeout;
    flags without_flush_at_exit strict_environment collapse_repeats;
}

/// The value of [`Builder::when_full`].
#[derive(Deserialize, Hash)]
struct Policy(#[serde(with = "Policies")] WhenFull);

#[derive(Deserialize)]
#[serde(remote = "WhenFull", rename_all = "snake_case")]
enum Policies {
    Block,
    DropNewest,
    DropOldest,
}

/// The arguments of [`Builder::flush_on`].
#[derive(Deserialize, Hash)]
#[serde(expecting = "a list of a level and a timeout, such as [\"error\", \"1s\"]")]
struct FlushOn(log::Level, Parsed<core::time::Duration>, #[serde(default)] End);

/// The arguments of [`Builder::before_errors`].
#[derive(Deserialize, Hash)]
#[serde(expecting = "a list of directives and a number of records, such as [\"debug\", 100]")]
struct BeforeErrors(String, Number<usize>, #[serde(default)] End);
