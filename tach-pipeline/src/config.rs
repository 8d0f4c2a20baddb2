//! A configuration from a file: the keys of a pipeline.

mod file;
mod format;
#[cfg(feature = "otlp")]
mod otlp;
mod read;
#[cfg(feature = "otlp")]
mod secret;
mod sink;
#[cfg(feature = "syslog")]
mod syslog;

use core::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use self::read::{set, turn_on};
use self::sink::AnySink;
use crate::pipeline::Pipeline;
use crate::pipeline::builder::Builder;
use crate::queue::WhenFull;

/// A pipeline's configuration from a file, in TOML, JSON, YAML or another format of serde whose
/// texts describe themselves.
///
/// A key has the name of its method, and the method's documentation says what the key means:
///
/// - A method with one argument is a key with that argument: `queue_bytes = 65536` is
///   [`Builder::queue_bytes`].
/// - A method without arguments is `true`: `collapse_repeats = true`. `false` is like no key, but
///   `colors = false` is `without_colors = true`, `ids = false` is `without_ids = true`, and of
///   `rfc3164` and `rfc5424` one is `true` if the other is `false`.
/// - A method with several arguments is a table of them:
///   `flush_on = { level = "error", timeout = "1s" }`.
/// - A choice is one name, or a table with that name and its options: `format = "json"`,
///   `format.json.digits = 3`.
///
/// Sizes are numbers of bytes. A duration is a text with its units: `"250ms"`, `"5s"`, `"1h 30m"`,
/// `"14days"`. A mode is a text too, since JSON has no octal numbers: `"640"`. Names of enums are
/// in `snake_case`. A protocol has its name in the variables of the environment: `http/protobuf` or
/// `grpc`.
///
/// | key | value |
/// |---|---|
/// | `sinks` | a list. Each sink has `to`, and may have `format`, `filter`, `stall_timeout` and `buffer_bytes` |
/// | `filter`, `filter_from_env`, `when_full`, `queue_bytes`, `flush_interval`, `flush_at_exit`, `flush_on`, `backtrace`, `collapse_repeats`, `rate_limit`, `redact`, `max_record_bytes`, `strict_environment`, and with its feature `survive` | as the method of [`Builder`] |
/// | `sinks[].to` | `stdout` or `stderr`, which may have `colors` or `without_colors`; `file`; `journald`, on Linux; with their features `syslog` and `otlp` |
/// | `to.file` | `path`, and as the methods of [`Sink`](crate::Sink) `mode`, `sync`, `keep_open`, `rotate` |
/// | `to.file.rotate` | as the methods of [`Rotation`](crate::Rotation) |
/// | `to.syslog` | `at`: `local`, `unix`, `udp` or `tcp`, the latter three with their address; `rfc3164` or `rfc5424`, `lf_framing`, `facility`, `app_name`, `host_name` |
/// | `to.otlp` | `from_env`, `endpoint`, `headers`, `protocol`, `compression`, `service_name`, `attributes`, `signals`, `timeout`, `max_delay`, `retry_for`, `metric_interval`, `temporality`; with the feature `tls` of tach-otlp `certificate` and `client_certificate`, which has `certificate` and `key` |
/// | `sinks[].format` | `line`, `compact`, `tracing`, `tracing_compact`, `json`, `ecs`, `google_cloud`, `datadog`, `bunyan`, `logfmt` or `journal` |
/// | `format.line` and those up to `tracing_compact` | as the methods of [`Line`](tach_log::Line) |
/// | `format.json` and those up to `datadog`, `format.logfmt` | `digits`, `offset`, `local_time`, `unix`, `levels`, `without`, `rename`, and `with`: keys and their [parts](tach_log::Part), as in `with = { at = "time", service = { fixed = "shop" } }` |
/// | `format.bunyan` | `name`, `host_name` |
///
/// A file can't name a function, a clock, what happens with spans, or the metadata and the limits
/// of what a collector receives. The program adds these to the [`builder`](Self::builder), the last
/// two with a sink of its own.
///
/// In a configuration of your own, a `Config` is a field, as `log: Config`. Don't flatten it by
/// `#[serde(flatten)]`: it would then accept unknown keys.
///
/// # Errors
///
/// A key that does not exist and a value that can't be read are errors of the deserializer. The
/// message has the path of the key, such as `sinks[1].to.file.rotate`, and the keys or values that
/// would be right. [`Builder::build`] refuses what can't work, as it does for calls: it names all
/// faults at once, and those of a sink with the sink's place in the file.
///
/// The message never contains the headers for a collector. But the format's crate may print the
/// line of an error, and that line may hold such a key. So take a key from the environment:
/// `to.otlp.from_env = true` reads `OTEL_EXPORTER_OTLP_HEADERS`.
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
///     to = "stderr"
///     filter = "warn"
///
///     [[sinks]]
///     format.json.with = { service = { fixed = "shop" } }
///     to.file.path = "logs/app.log"
///     to.file.rotate = { daily = true, max_bytes = 100_000_000, keep_for = "14days" }
/// "#;
/// let config: Config = toml::from_str(text)?;
/// let pipeline = config.builder().filter_from_env("RUST_LOG").build()?;
/// # drop(pipeline);
/// # std::fs::remove_dir_all("logs")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A mistake is found before the program logs:
///
/// ```
/// use tach_pipeline::Config;
///
/// let text = r#"{"sinks": [{"to": {"file": {"path": "app.log", "rotates": "daily"}}}]}"#;
/// let error = serde_json::from_str::<Config>(text).unwrap_err().to_string();
/// assert!(error.starts_with("sinks[0].to.file.rotates: unknown field `rotates`, expected "));
/// ```
#[derive(Debug, Default)]
pub struct Config(Keys);

#[derive(Debug, Default, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a table with the keys of a pipeline, such as `sinks`"
)]
struct Keys {
    sinks: Vec<AnySink>,
    filter: Option<String>,
    filter_from_env: Option<String>,
    strict_environment: bool,
    when_full: Option<WhenFull>,
    #[serde(deserialize_with = "read::number")]
    queue_bytes: Option<usize>,
    #[serde(deserialize_with = "read::duration")]
    flush_interval: Option<Duration>,
    #[serde(deserialize_with = "read::duration")]
    flush_at_exit: Option<Duration>,
    flush_on: Option<FlushOn>,
    backtrace: Option<Backtrace>,
    collapse_repeats: bool,
    #[serde(deserialize_with = "read::number")]
    rate_limit: Option<u32>,
    redact: Vec<String>,
    #[serde(deserialize_with = "read::number")]
    max_record_bytes: Option<usize>,
    #[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
    survive: Option<std::path::PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `level` and `timeout`")]
struct FlushOn {
    #[serde(deserialize_with = "read::level")]
    level: log::Level,
    #[serde(deserialize_with = "read::given_duration")]
    timeout: Duration,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `directives` and `records`")]
struct Backtrace {
    directives: String,
    #[serde(deserialize_with = "read::given_number")]
    records: usize,
}

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
        let Self(keys) = self;
        let builder = keys.sinks.into_iter().enumerate().fold(Pipeline::builder(), AnySink::add_to);
        let builder = set(builder, keys.filter, Builder::filter);
        let builder = set(builder, keys.filter_from_env.as_deref(), Builder::filter_from_env);
        let builder = turn_on(builder, keys.strict_environment, Builder::strict_environment);
        let builder = set(builder, keys.when_full, Builder::when_full);
        let builder = set(builder, keys.queue_bytes, Builder::queue_bytes);
        let builder = set(builder, keys.flush_interval, Builder::flush_interval);
        let builder = set(builder, keys.flush_at_exit, Builder::flush_at_exit);
        let builder = set(builder, keys.flush_on, |to, it| to.flush_on(it.level, it.timeout));
        let builder =
            set(builder, keys.backtrace, |to, it| to.backtrace(it.directives, it.records));
        let builder = turn_on(builder, keys.collapse_repeats, Builder::collapse_repeats);
        let builder = set(builder, keys.rate_limit, Builder::rate_limit);
        let builder = set(builder, keys.max_record_bytes, Builder::max_record_bytes);
        #[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
        let builder = set(builder, keys.survive, Builder::survive);
        builder.redact(keys.redact)
    }
}

/// Errors name the key by its path, in formats that print no path too.
impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        serde_path_to_error::deserialize(from).map(Self).map_err(|error| {
            let (path, error) = (error.path().to_string(), error.into_inner());
            let message = error.to_string();
            let with_path = at(&path, &message);
            let hint = needs(&message, FEATURES);
            if with_path.is_none() && hint.is_none() {
                return error;
            }
            let message = with_path.unwrap_or(message);
            let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
            D::Error::custom(format!("{}{hint}", message.trim_end()))
        })
    }
}

/// Returns a message with the path of the key, or `None` if it has the path or none is known.
///
/// For an unknown key, a format that prints paths prints the path of the table around the key.
fn at(path: &str, message: &str) -> Option<String> {
    let table = path.rsplit_once('.').map_or(path, |(table, _)| table);
    let has = |path: &str| message.contains(&format!("{path}: "));
    // Some formats end their messages with a line end.
    (path != "." && !has(path) && !has(table)).then(|| format!("{path}: {}", message.trim_end()))
}

/// The keys that exist with a feature alone, the feature, and whether this build has it.
const FEATURES: &[(&str, &str, bool)] = &[
    ("gzip", "gzip", cfg!(feature = "gzip")),
    ("otlp", "otlp", cfg!(feature = "otlp")),
    ("survive", "survive", cfg!(feature = "survive")),
    ("syslog", "syslog", cfg!(feature = "syslog")),
];

/// Returns which feature the unknown key of a message needs.
fn needs(message: &str, features: &[(&str, &str, bool)]) -> Option<String> {
    let is_unknown = |key: &str| {
        ["field", "variant"].iter().any(|kind| message.contains(&format!("unknown {kind} `{key}`")))
    };
    let missing = features.iter().find(|(key, _, is_on)| !is_on && is_unknown(key));
    missing
        .map(|(key, feature, _)| format!("`{key}` needs the feature `{feature}` of tach-pipeline"))
}

#[cfg(test)]
mod tests {
    use super::{at, needs};

    #[test]
    fn a_key_of_a_feature_names_the_feature() {
        let features = [("gzip", "gzip", true), ("syslog", "syslog", false)];
        let hint = |message: &str| needs(message, &features);
        for kind in ["field", "variant"] {
            assert_eq!(
                hint(&format!("sinks[0]: unknown {kind} `syslog`, expected `digits`")).unwrap(),
                "`syslog` needs the feature `syslog` of tach-pipeline"
            );
        }
        assert_eq!(hint("unknown field `gzip`, expected `syslog`"), None);
        assert_eq!(hint("unknown field `time`, expected `syslog`"), None);
    }

    #[test]
    fn a_message_has_the_path_once() {
        let cases = [
            (".", "expected a map", None),
            ("filter", "it is wrong\n", Some("filter: it is wrong")),
            ("sinks[1].to", "it is wrong", Some("sinks[1].to: it is wrong")),
            ("sinks[1].to", "sinks[1].to: it is wrong", None),
            ("sinks[1].to.new", "sinks[1].to: it is unknown", None),
            // The program's own table is around the configuration.
            ("sinks[1].to.new", "log.sinks[1].to: it is unknown", None),
            (
                "sinks[1].to",
                "sinks[0].to: it is another",
                Some("sinks[1].to: sinks[0].to: it is another"),
            ),
        ];
        for (path, message, expected) in cases {
            assert_eq!(at(path, message).as_deref(), expected, "{path} {message}");
        }
    }
}
