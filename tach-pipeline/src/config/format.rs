//! The keys of formats.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use tach_log::adapter::Style;
use tach_log::{Format, Json, Keyed, Line, Logfmt, Part};

use super::calls::{Calls, call, choose, keys, turn_on};
use super::parsed::{End, Number, Parsed};
use crate::sink::{AnyFormat, JournalExport};

keys! {
    Option<Arc<AnyFormat>>;
    choice {
        line = |keys: Calls<Line>| boxed(keys.on(Line::new()));
        compact = |keys: Calls<Line>| boxed(keys.on(Line::compact()));
        tracing = |keys: Calls<Line>| boxed(keys.on(Line::tracing()));
        tracing_compact = |keys: Calls<Line>| boxed(keys.on(Line::tracing_compact()));
        json = |keys: Calls<Json>| boxed(keys.on(Json::new()));
        ecs = |keys: Calls<Json>| boxed(keys.on(Json::ecs()));
        google_cloud = |keys: Calls<Json>| boxed(keys.on(Json::google_cloud()));
        datadog = |keys: Calls<Json>| boxed(keys.on(Json::datadog()));
        bunyan = |Bunyan(name, host, End)| boxed(Json::bunyan(&name, &host));
        logfmt = |keys: Calls<Logfmt>| boxed(keys.on(Logfmt::new()));
        journal_export = |is_on| if is_on { boxed(JournalExport::new()) } else { boxed(Line::new()) };
    }
}

fn boxed(format: impl Format + Send + Sync + 'static) -> Arc<AnyFormat> {
    Arc::new(format)
}

keys! {
    Line;
    either offset local_time;
    calls {
        ids = |to: Self, is_on: bool| if is_on { to.ids() } else { to.without_ids() };
    }
    numbers digits target_width max_target_width;
    parsed offset;
    flags local_time site pid host multiline
        without_date without_time without_level without_target without_span_fields;
}

keys! {
    Keyed<S>, S: Style;
    either offset local_time;
    calls {
        levels = |to: Self, levels| match levels {
            Levels::Texts(texts) => to.levels(texts.each_ref().map(String::as_str)),
            Levels::Numbers(numbers) => to.levels(numbers),
        };
        without = |to: Self, keys: Vec<String>| keys.iter().fold(to, |to, key| to.without(key));
        rename = |to: Self, keys: BTreeMap<String, String>| {
            keys.iter().fold(to, |to, (field, key)| to.rename(field, key))
        };
        with = |to: Self, parts: BTreeMap<String, AnyPart>| {
            parts.iter().fold(to, |to, (key, part)| to.with(key, part))
        };
    }
    numbers digits;
    parsed offset;
    flags local_time unix;
}

/// The arguments of [`Json::bunyan`].
#[derive(Deserialize, Hash)]
#[serde(expecting = "a list of the program's and the host's name, such as [\"shop\", \"web-1\"]")]
struct Bunyan(String, String, #[serde(default)] End);

/// The texts or the numbers that are written for the levels.
#[derive(Deserialize, Hash)]
#[serde(untagged, expecting = "expected six texts or six numbers, from slog's Critical to Trace")]
enum Levels {
    Texts([String; 6]),
    Numbers([i64; 6]),
}

/// Declares an enum with the names of parts.
macro_rules! parts {
    ($($part:ident),*) => {
        #[derive(Deserialize, Hash)]
        #[serde(rename_all = "snake_case")]
        enum AnyPart {
            $($part,)*
            Fixed(String),
        }

        impl<'a> From<&'a AnyPart> for Part<'a> {
            fn from(part: &'a AnyPart) -> Self {
                match part {
                    $(AnyPart::$part => Self::$part,)*
                    AnyPart::Fixed(text) => Self::Fixed(text.as_str().into()),
                }
            }
        }
    };
}

parts!(
    Time, Level, Target, Message, SpanNames, File, Line, Module, ThreadName, ThreadId, Pid, Host,
    TraceId, SpanId
);

#[cfg(test)]
mod tests {
    use tach_core::Offset;

    use super::*;

    #[test]
    fn each_key_of_a_line_is_a_method() {
        let cases = [
            ("digits = 3\ntarget_width = 20", Line::new().digits(3).target_width(20)),
            (
                "without_date = true\nwithout_time = true\nwithout_level = true\nwithout_target = true",
                Line::new().without_time().without_level().without_target(),
            ),
            ("offset = '+01:00'", Line::new().offset("+01:00".parse().unwrap())),
            ("offset = 'Z'", Line::new().offset(Offset::UTC)),
            ("ids = true", Line::new().ids()),
            ("ids = false", Line::new().without_ids()),
            ("local_time = true", Line::new().local_time()),
            ("site = true", Line::new().site()),
            ("without_span_fields = true", Line::new().without_span_fields()),
            (
                "pid = true\nhost = true\nmultiline = true\nmax_target_width = 9",
                Line::new().pid().host().multiline().max_target_width(9),
            ),
        ];
        for (text, expected) in cases {
            let keys: Calls<Line> = toml::from_str(text).unwrap();
            assert_eq!(keys.on(Line::new()), expected, "{text}");
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
                "levels = ['C', 'E', 'W', 'I', 'D', 'T']",
                Json::new().levels(["C", "E", "W", "I", "D", "T"]),
            ),
            ("rename = { err = 'error.message' }", Json::new().rename("err", "error.message")),
            ("local_time = true", Json::new().local_time()),
        ];
        for (text, expected) in cases {
            let keys: Calls<Json> = toml::from_str(text).unwrap();
            assert_eq!(keys.on(Json::new()), expected, "{text}");
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
            ("pid", Part::Pid),
            ("host", Part::Host),
            ("trace_id", Part::TraceId),
            ("span_id", Part::SpanId),
        ];
        for (name, part) in parts {
            let keys: Calls<Json> = toml::from_str(&format!("with.key = '{name}'")).unwrap();
            assert_eq!(keys.on(Json::empty()), Json::empty().with("key", part), "{name}");
        }
    }
}
