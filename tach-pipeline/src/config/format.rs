//! The keys of formats.

use core::fmt;
use std::collections::BTreeMap;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use tach_core::Offset;
use tach_log::adapter::Style;
use tach_log::{Json, Keyed, Line, Logfmt, Part, Value};

use super::read::{self, Check, Checked, NoOptions, at_most_one, set, switch, turn_on};
use crate::sink::{Journal, Sink, kind};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Format {
    Line(Checked<LineKeys>),
    Compact(Checked<LineKeys>),
    Tracing(Checked<LineKeys>),
    TracingCompact(Checked<LineKeys>),
    Json(Checked<KeyedKeys>),
    Ecs(Checked<KeyedKeys>),
    GoogleCloud(Checked<KeyedKeys>),
    Datadog(Checked<KeyedKeys>),
    Bunyan(BunyanKeys),
    Logfmt(Checked<KeyedKeys>),
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
#[expect(clippy::struct_excessive_bools, reason = "each is the name of a method")]
pub(super) struct LineKeys {
    #[serde(deserialize_with = "read::number")]
    digits: Option<usize>,
    #[serde(deserialize_with = "offset")]
    offset: Option<Offset>,
    local_time: bool,
    without_time: bool,
    without_level: bool,
    without_target: bool,
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
    #[serde(deserialize_with = "offset")]
    offset: Option<Offset>,
    local_time: bool,
    unix: bool,
    #[serde(deserialize_with = "levels")]
    levels: Option<[AnyLevel; 6]>,
    /// Keys and the parts that stand at them.
    with: BTreeMap<String, AnyPart>,
    without: Vec<String>,
    /// Fields and their new keys.
    rename: BTreeMap<String, String>,
}

fn offset<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Offset>, D::Error> {
    read::parsed(from, "an offset from UTC, such as \"+01:00\"", |text| text.parse().ok())
}

fn levels<'de, D: Deserializer<'de>>(from: D) -> Result<Option<[AnyLevel; 6]>, D::Error> {
    let Some(all) = Option::<Vec<_>>::deserialize(from)? else { return Ok(None) };
    let wanted = "six texts or numbers, from slog's Critical to Trace";
    let six = <[AnyLevel; 6]>::try_from(all);
    six.map(Some).map_err(|all| D::Error::invalid_length(all.len(), &wanted))
}

/// What stands for a level.
enum AnyLevel {
    Text(String),
    Number(i64),
}

impl<'de> Deserialize<'de> for AnyLevel {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(LevelVisitor)
    }
}

struct LevelVisitor;

impl Visitor<'_> for LevelVisitor {
    type Value = AnyLevel;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AnyLevel, E> {
        Ok(AnyLevel::Text(text.to_owned()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<AnyLevel, E> {
        Ok(AnyLevel::Number(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<AnyLevel, E> {
        let too_high = |_| E::invalid_value(Unexpected::Unsigned(number), &"a lower number");
        i64::try_from(number).map(AnyLevel::Number).map_err(too_high)
    }
}

impl<'a> From<&'a AnyLevel> for Value<'a> {
    fn from(level: &'a AnyLevel) -> Self {
        match level {
            AnyLevel::Text(text) => text.as_str().into(),
            AnyLevel::Number(number) => (*number).into(),
        }
    }
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
            Self::Json(Checked(keys)) => sink.format(keys.of(Json::new())),
            Self::Ecs(Checked(keys)) => sink.format(keys.of(Json::ecs())),
            Self::GoogleCloud(Checked(keys)) => sink.format(keys.of(Json::google_cloud())),
            Self::Datadog(Checked(keys)) => sink.format(keys.of(Json::datadog())),
            Self::Bunyan(keys) => sink.format(Json::bunyan(&keys.name, &keys.host_name)),
            Self::Logfmt(Checked(keys)) => sink.format(keys.of(Logfmt::new())),
            Self::Journal(NoOptions {}) => sink.format(Journal::new()),
        }
    }
}

impl Check for LineKeys {
    fn check(&self) -> Result<(), String> {
        at_most_one(&[("offset", self.offset.is_some()), ("local_time", self.local_time)])?;
        at_most_one(&[("ids", self.ids == Some(true)), ("without_ids", self.without_ids)])
    }
}

impl LineKeys {
    fn of(&self, line: Line) -> Line {
        let line = set(line, self.digits, Line::digits);
        let line = set(line, self.offset, Line::offset);
        let line = turn_on(line, self.local_time, Line::local_time);
        let line = turn_on(line, self.without_time, Line::without_time);
        let line = turn_on(line, self.without_level, Line::without_level);
        let line = turn_on(line, self.without_target, Line::without_target);
        let line = match switch(self.ids, self.without_ids) {
            Some(true) => line.ids(),
            Some(false) => line.without_ids(),
            None => line,
        };
        set(line, self.target_width, Line::target_width)
    }
}

impl Check for KeyedKeys {
    fn check(&self) -> Result<(), String> {
        at_most_one(&[("offset", self.offset.is_some()), ("local_time", self.local_time)])?;
        Ok(())
    }
}

impl KeyedKeys {
    fn of<S: Style>(&self, format: Keyed<S>) -> Keyed<S> {
        let format = set(format, self.digits, Keyed::digits);
        let format = set(format, self.offset, Keyed::offset);
        let format = turn_on(format, self.local_time, Keyed::local_time);
        let format = turn_on(format, self.unix, Keyed::unix);
        let levels = self.levels.as_ref().map(<[_; 6]>::each_ref);
        let format = set(format, levels, Keyed::levels);
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
                "without_time = true\nwithout_level = true\nwithout_target = true",
                Line::new().without_time().without_level().without_target(),
            ),
            ("offset = '+01:00'", Line::new().offset("+01:00".parse().unwrap())),
            ("offset = 'Z'", Line::new().offset(Offset::UTC)),
            ("ids = true", Line::new().ids()),
            ("without_ids = true", Line::new().without_ids()),
            ("ids = false", Line::new().without_ids()),
            ("without_ids = false", Line::new()),
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
            ("offset = '-03:30'", Json::new().offset("-03:30".parse().unwrap())),
            ("levels = [60, 50, 40, 30, 20, 10]", Json::new().levels([60, 50, 40, 30, 20, 10])),
            (
                "levels = ['C', 'E', 'W', 'I', 'D', -1]",
                Json::new().levels([
                    Value::from("C"),
                    "E".into(),
                    "W".into(),
                    "I".into(),
                    "D".into(),
                    (-1).into(),
                ]),
            ),
            ("rename = { err = 'error.message' }", Json::new().rename("err", "error.message")),
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
