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

/// A pipeline's configuration from a file, in TOML, JSON, YAML or another format of serde whose
/// texts describe themselves.
///
/// A key has the name of its method, and the method's documentation says what the key means:
///
/// - A method with one argument is a key with that argument: `queue_bytes = 65536` is
///   [`Builder::queue_bytes`].
/// - A method without arguments is `true`: `collapse_repeats = true`. `false` is like no key.
///   `colors` and `ids` have a method for each state, so `colors = false` is `without_colors`.
/// - A method with several arguments is a list of them: `flush_on = ["error", "1s"]`.
/// - A constructor is a key too, with a table of its options or `true`: `file.path = "app.log"`,
///   `stderr = true`. A format may also be its name alone: `format = "json"`.
/// - Of keys that replace each other, such as `daily` and `hourly`, a table has one.
///
/// A size is a number of bytes, or a text with a unit: `"64 KiB"` are 65,536 and `"10 MB"` are
/// 10,000,000. In a path, `${NAME}` is a variable of the environment, and `~/` the one named `HOME`.
/// A duration is a text with its units: `"250ms"`, `"5s"`, `"1h 30m"`,
/// `"14days"`. A mode is a text too, since JSON has no octal numbers: `"640"`. Names of enums are
/// in `snake_case`. A protocol has its name in the variables of the environment: `http/protobuf` or
/// `grpc`.
///
/// | key | value |
/// |---|---|
/// | `sinks` | a list. Each sink has one of the keys from `stdout` to `otlp`, and may have `name`, `filter`, `stall_timeout`, `buffer_bytes` and `max_line_bytes` |
/// | `filter`, `filter_from_env`, `when_full`, `queue_bytes`, `flush_interval`, `flush_at_exit`, `flush_on`, `backtrace`, `collapse_repeats`, `rate_limit`, `redact`, `max_record_bytes`, `strict_environment`, and with its feature `survive` | as the method of [`Builder`] |
/// | `stdout`, `stderr` | `true`, or `colors` |
/// | `file` | `path`, and as the methods of [`Sink`](crate::Sink) `mode`, `sync`, `keep_open`, `rotate` |
/// | `file.rotate` | as the methods of [`Rotation`](crate::Rotation) |
/// | `journald` | `true`: on Linux |
/// | `syslog` | with its feature one of `local`, `unix`, `udp` and `tcp`, as the constructors of `Syslog`; `rfc3164` or `rfc5424`, `lf_framing`, `facility`, `app_name`, `host_name` |
/// | `otlp` | with its feature `from_env`, `endpoint`, `headers`, `protocol`, `compression`, `service_name`, `attributes`, `signals`, `timeout`, `max_delay`, `retry_for`, `metric_interval`, `temporality`; with the feature `tls` of tach-otlp `certificate` and `client_certificate` |
/// | `format` of other sinks than `journald` and `otlp` | `line`, `compact`, `tracing`, `tracing_compact`, `json`, `ecs`, `google_cloud`, `datadog`, `bunyan`, `logfmt` or `journal` |
/// | `format.line` and those up to `tracing_compact` | as the methods of [`Line`](tach_log::Line) |
/// | `format.json` and those up to `datadog`, `format.logfmt` | `digits`, `offset`, `local_time`, `unix`, `levels`, `without`, `rename`, and `with`: keys and their [parts](tach_log::Part), as in `with = { at = "time", service = { fixed = "shop" } }` |
/// | `format.bunyan` | a list of the name and the host's name |
///
/// A file can't name a function, a clock, what happens with spans, or a collector's metadata and
/// limits. The program adds these to the [`builder`](Self::builder), the last two with a sink.
///
/// In your own configuration, a `Config` is a field, as `log: Config`. Don't flatten it by
/// `#[serde(flatten)]`: it would then accept unknown keys.
///
/// # Errors
///
/// A key that does not exist and a value that can't be read are errors of the deserializer. The
/// message has the path of the key or of its table, such as `sinks[1].file.rotate`, and the keys or
/// values that would be right. [`Builder::build`] refuses what can't work, as it does for calls: it
/// names all faults at once, and those of a sink with the sink's place in the file.
///
/// The message has no header's value, but the format's crate may print the line that has it:
/// `otlp.from_env = true` reads `OTEL_EXPORTER_OTLP_HEADERS` in place of the file.
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
/// let pipeline = config.builder().filter_from_env("RUST_LOG").build()?;
/// # drop(pipeline);
/// # std::fs::remove_dir_all("logs")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A mistake is found at once:
///
/// ```
/// use tach_pipeline::Config;
///
/// let text = r#"{"sinks": [{"file": {"path": "app.log", "rotates": "daily"}}]}"#;
/// let error = serde_json::from_str::<Config>(text).unwrap_err().to_string();
/// assert!(error.starts_with("sinks[0].file.rotates: unknown field `rotates`, expected "));
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
        Ok(Self(keys.on(Pipeline::builder())))
    }
}

keys! {
    Builder;
    calls {
        sinks = sink::add;
        flush_on = |to: Self, FlushOn(level, Parsed(timeout), End)| to.flush_on(level, timeout);
        backtrace = |to: Self, Backtrace(filter, Number(records), End)| to.backtrace(filter, records);
        redact = |to: Self, keys: Vec<String>| to.redact(keys);
        #[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
        survive = |to: Self, Parsed(folder): Parsed<std::path::PathBuf>| to.survive(folder);
    }
    texts filter filter_from_env;
    values when_full;
    numbers rate_limit;
    sizes queue_bytes max_record_bytes;
    parsed flush_interval flush_at_exit;
    flags strict_environment collapse_repeats;
}

/// The arguments of [`Builder::flush_on`].
#[derive(Deserialize)]
#[serde(expecting = "a list of a level and a timeout, such as [\"error\", \"1s\"]")]
struct FlushOn(log::Level, Parsed<core::time::Duration>, #[serde(default)] End);

/// The arguments of [`Builder::backtrace`].
#[derive(Deserialize)]
#[serde(expecting = "a list of directives and a number of records, such as [\"debug\", 100]")]
struct Backtrace(String, Number<usize>, #[serde(default)] End);
