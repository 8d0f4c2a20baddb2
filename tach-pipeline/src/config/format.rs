//! The keys of formats.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use tach_log::adapter::Style;
use tach_log::{Json, Keyed, Line, Logfmt, Part};

use super::read::{self, Check, Checked, NoOptions, at_most_one, set, switch, turn_on};
use crate::sink::{Journal, Sink, kind};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Format {
    Line(Checked<LineKeys>),
    Compact(Checked<LineKeys>),
    Tracing(Checked<LineKeys>),
    TracingCompact(Checked<LineKeys>),
    Json(KeyedKeys),
    Ecs(KeyedKeys),
    GoogleCloud(KeyedKeys),
    Datadog(KeyedKeys),
    Bunyan(BunyanKeys),
    Logfmt(KeyedKeys),
    Journal(NoOptions),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `name` and `host_name`")]
pub(super) struct BunyanKeys {
    name: String,
    host_name: String,
}

#[derive(Default, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a table with the keys of the format, such as `digits`"
)]
#[cfg_attr(
    feature = "local-time",
    expect(clippy::struct_excessive_bools, reason = "each is the name of a method")
)]
pub(super) struct LineKeys {
    #[serde(deserialize_with = "read::number")]
    digits: Option<usize>,
    #[cfg(feature = "local-time")]
    local_time: bool,
    without_time: bool,
    without_level: bool,
    ids: Option<bool>,
    without_ids: bool,
    #[serde(deserialize_with = "read::number")]
    target_width: Option<usize>,
}

#[derive(Default, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a table with the keys of the format, such as `digits`"
)]
pub(super) struct KeyedKeys {
    #[serde(deserialize_with = "read::number")]
    digits: Option<usize>,
    #[cfg(feature = "local-time")]
    local_time: bool,
    unix: bool,
    /// Keys and the parts that stand at them.
    with: BTreeMap<String, AnyPart>,
    without: Vec<String>,
    /// Fields and their new keys.
    rename: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct AnyPart(#[serde(deserialize_with = "read::choice")] PartName);

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum PartName {
    Time(NoOptions),
    Level(NoOptions),
    Target(NoOptions),
    Message(NoOptions),
    SpanNames(NoOptions),
    File(NoOptions),
    Line(NoOptions),
    Module(NoOptions),
    ThreadName(NoOptions),
    ThreadId(NoOptions),
    TraceId(NoOptions),
    SpanId(NoOptions),
    Fixed(#[serde(deserialize_with = "fixed")] String),
}

fn fixed<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    read::text(from, "a text, as in `{ fixed = \"shop\" }`")
}

impl<'a> From<&'a PartName> for Part<'a> {
    fn from(name: &'a PartName) -> Self {
        match name {
            PartName::Time(NoOptions {}) => Self::Time,
            PartName::Level(NoOptions {}) => Self::Level,
            PartName::Target(NoOptions {}) => Self::Target,
            PartName::Message(NoOptions {}) => Self::Message,
            PartName::SpanNames(NoOptions {}) => Self::SpanNames,
            PartName::File(NoOptions {}) => Self::File,
            PartName::Line(NoOptions {}) => Self::Line,
            PartName::Module(NoOptions {}) => Self::Module,
            PartName::ThreadName(NoOptions {}) => Self::ThreadName,
            PartName::ThreadId(NoOptions {}) => Self::ThreadId,
            PartName::TraceId(NoOptions {}) => Self::TraceId,
            PartName::SpanId(NoOptions {}) => Self::SpanId,
            PartName::Fixed(text) => Self::Fixed(text.as_str().into()),
        }
    }
}

impl Format {
    /// Sets the format of the sink. Sinks share the work only for formats of one type, so each arm
    /// passes its own.
    pub(super) fn of<K: kind::TakesFormat>(self, sink: Sink<K>) -> Sink<K> {
        match self {
            Self::Line(Checked(keys)) => sink.format(keys.of(Line::new())),
            Self::Compact(Checked(keys)) => sink.format(keys.of(Line::compact())),
            Self::Tracing(Checked(keys)) => sink.format(keys.of(Line::tracing())),
            Self::TracingCompact(Checked(keys)) => sink.format(keys.of(Line::tracing_compact())),
            Self::Json(keys) => sink.format(keys.of(Json::new())),
            Self::Ecs(keys) => sink.format(keys.of(Json::ecs())),
            Self::GoogleCloud(keys) => sink.format(keys.of(Json::google_cloud())),
            Self::Datadog(keys) => sink.format(keys.of(Json::datadog())),
            Self::Bunyan(keys) => sink.format(Json::bunyan(&keys.name, &keys.host_name)),
            Self::Logfmt(keys) => sink.format(keys.of(Logfmt::new())),
            Self::Journal(NoOptions {}) => sink.format(Journal::new()),
        }
    }
}

impl Check for LineKeys {
    fn check(&self) -> Result<(), String> {
        at_most_one(&[("ids", self.ids == Some(true)), ("without_ids", self.without_ids)])
    }
}

impl LineKeys {
    fn of(&self, line: Line) -> Line {
        let line = set(line, self.digits, Line::digits);
        #[cfg(feature = "local-time")]
        let line = turn_on(line, self.local_time, Line::local_time);
        let line = turn_on(line, self.without_time, Line::without_time);
        let line = turn_on(line, self.without_level, Line::without_level);
        let line = match switch(self.ids, self.without_ids) {
            Some(true) => line.ids(),
            Some(false) => line.without_ids(),
            None => line,
        };
        set(line, self.target_width, Line::target_width)
    }
}

impl KeyedKeys {
    fn of<S: Style>(&self, format: Keyed<S>) -> Keyed<S> {
        let format = set(format, self.digits, Keyed::digits);
        #[cfg(feature = "local-time")]
        let format = turn_on(format, self.local_time, Keyed::local_time);
        let format = turn_on(format, self.unix, Keyed::unix);
        let format = self.without.iter().fold(format, |format, key| format.without(key));
        let renamed = self.rename.iter();
        let format = renamed.fold(format, |format, (field, key)| format.rename(field, key));
        let parts = self.with.iter().map(|(key, AnyPart(name))| (key, Part::from(name)));
        parts.fold(format, |format, (key, part)| format.with(key, part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_of_a_line_is_a_method() {
        let cases = [
            ("digits = 3\ntarget_width = 20", Line::new().digits(3).target_width(20)),
            (
                "without_time = true\nwithout_level = true",
                Line::new().without_time().without_level(),
            ),
            ("ids = true", Line::new().ids()),
            ("without_ids = true", Line::new().without_ids()),
            ("ids = false", Line::new().without_ids()),
            ("without_ids = false", Line::new()),
            #[cfg(feature = "local-time")]
            ("local_time = true", Line::new().local_time()),
        ];
        for (text, expected) in cases {
            let keys: LineKeys = toml::from_str(text).unwrap();
            assert_eq!(keys.of(Line::new()), expected, "{text}");
        }
    }

    #[test]
    fn each_key_of_a_format_with_keys_is_a_method() {
        let cases = [
            ("digits = 3\nunix = true", Json::new().digits(3).unix()),
            (
                "with.file = 'file'\nwith.line = 'line'\nwithout = ['target', 'span']",
                Json::new()
                    .with("file", Part::File)
                    .with("line", Part::Line)
                    .without("target")
                    .without("span"),
            ),
            (
                "with.'@timestamp' = 'time'\nwith.service = { fixed = 'shop' }",
                Json::new().with("@timestamp", Part::Time).with("service", "shop"),
            ),
            ("rename = { err = 'error.message' }", Json::new().rename("err", "error.message")),
            #[cfg(feature = "local-time")]
            ("local_time = true", Json::new().local_time()),
        ];
        for (text, expected) in cases {
            let keys: KeyedKeys = toml::from_str(text).unwrap();
            assert_eq!(keys.of(Json::new()), expected, "{text}");
        }
    }

    #[test]
    fn each_part_has_a_name() {
        let parts = [
            ("time", Part::Time),
            ("level", Part::Level),
            ("target", Part::Target),
            ("message", Part::Message),
            ("span_names", Part::SpanNames),
            ("file", Part::File),
            ("line", Part::Line),
            ("module", Part::Module),
            ("thread_name", Part::ThreadName),
            ("thread_id", Part::ThreadId),
            ("trace_id", Part::TraceId),
            ("span_id", Part::SpanId),
        ];
        for (name, part) in parts {
            let keys: KeyedKeys = toml::from_str(&format!("with.key = '{name}'")).unwrap();
            assert_eq!(keys.of(Json::empty()), Json::empty().with("key", part), "{name}");
        }
    }
}
