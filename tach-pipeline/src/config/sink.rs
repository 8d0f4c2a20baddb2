//! The keys of a sink.

use core::time::Duration;

use serde::Deserialize;

use super::file::FileKeys;
use super::format::Format;
#[cfg(feature = "otlp")]
use super::otlp::{self, OtlpKeys};
#[cfg(target_os = "linux")]
use super::read::NoOptions;
use super::read::{self, Check, Checked, at_most_one, set, switch};
#[cfg(feature = "syslog")]
use super::syslog::SyslogKeys;
use crate::pipeline::builder::Builder;
use crate::sink::{Sink, kind};

#[derive(Debug, Deserialize)]
#[serde(try_from = "SinkKeys")]
pub(super) struct AnySink(Sink);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a sink, such as `to`")]
struct SinkKeys {
    #[serde(deserialize_with = "read::choice")]
    to: To,
    #[serde(default, deserialize_with = "read::optional_choice")]
    format: Option<Format>,
    filter: Option<String>,
    #[serde(default, deserialize_with = "read::duration")]
    stall_timeout: Option<Duration>,
    #[serde(default, deserialize_with = "read::number")]
    buffer_bytes: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum To {
    Stdout(Checked<Terminal>),
    Stderr(Checked<Terminal>),
    File(FileKeys),
    #[cfg(feature = "syslog")]
    Syslog(Checked<SyslogKeys>),
    #[cfg(target_os = "linux")]
    Journald(NoOptions),
    #[cfg(feature = "otlp")]
    Otlp(#[serde(deserialize_with = "otlp::keys")] OtlpKeys),
}

#[derive(Default, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a table with the keys of a stream, such as `colors`"
)]
struct Terminal {
    colors: Option<bool>,
    without_colors: bool,
}

impl AnySink {
    /// Adds the sink with this index in the list.
    pub(super) fn add_to(builder: Builder, (at, Self(mut sink)): (usize, Self)) -> Builder {
        sink.place = Some(format!("sinks[{at}]"));
        builder.sink(sink)
    }
}

impl TryFrom<SinkKeys> for AnySink {
    type Error = String;

    fn try_from(keys: SinkKeys) -> Result<Self, Self::Error> {
        let sink = keys.to.sink(keys.format)?;
        let sink = set(sink, keys.filter, Sink::filter);
        let sink = set(sink, keys.stall_timeout, Sink::stall_timeout);
        Ok(Self(set(sink, keys.buffer_bytes, Sink::buffer_bytes)))
    }
}

impl To {
    /// # Errors
    ///
    /// If there is a format, but the receiver reads one format alone.
    #[cfg_attr(
        not(any(feature = "otlp", target_os = "linux")),
        expect(clippy::unnecessary_wraps, reason = "only the other receivers refuse a format")
    )]
    fn sink(self, format: Option<Format>) -> Result<Sink, String> {
        match self {
            Self::Stdout(Checked(keys)) => Ok(formatted(keys.of(Sink::stdout()), format)),
            Self::Stderr(Checked(keys)) => Ok(formatted(keys.of(Sink::stderr()), format)),
            Self::File(keys) => Ok(formatted(keys.sink(), format)),
            #[cfg(feature = "syslog")]
            Self::Syslog(Checked(keys)) => Ok(formatted(Sink::syslog(keys.syslog()), format)),
            #[cfg(target_os = "linux")]
            Self::Journald(NoOptions {}) => unformatted(Sink::journald(), format.as_ref()),
            #[cfg(feature = "otlp")]
            Self::Otlp(keys) => unformatted(Sink::otlp(keys.otlp()), format.as_ref()),
        }
    }
}

impl Check for Terminal {
    fn check(&self) -> Result<(), String> {
        let colors = self.colors == Some(true);
        at_most_one(&[("colors", colors), ("without_colors", self.without_colors)])
    }
}

impl Terminal {
    fn of(&self, sink: Sink<kind::Stream>) -> Sink<kind::Stream> {
        match switch(self.colors, self.without_colors) {
            Some(true) => sink.colors(),
            Some(false) => sink.without_colors(),
            None => sink,
        }
    }
}

fn formatted<K: kind::TakesFormat>(sink: Sink<K>, format: Option<Format>) -> Sink
where
    Sink<K>: Into<Sink>,
{
    match format {
        Some(format) => format.of(sink).into(),
        None => sink.into(),
    }
}

#[cfg(any(feature = "otlp", target_os = "linux"))]
fn unformatted(sink: Sink<kind::OneFormat>, format: Option<&Format>) -> Result<Sink, String> {
    match format {
        Some(_) => Err("the receiver reads one format alone, expected no key `format`".to_owned()),
        None => Ok(sink.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_that_is_false_is_its_opposite() {
        let cases = [
            ("", Sink::stderr()),
            ("colors = true", Sink::stderr().colors()),
            ("without_colors = true", Sink::stderr().without_colors()),
            ("colors = false", Sink::stderr().without_colors()),
            ("colors = false\nwithout_colors = true", Sink::stderr().without_colors()),
            ("colors = true\nwithout_colors = false", Sink::stderr().colors()),
            ("without_colors = false", Sink::stderr()),
        ];
        for (text, expected) in cases {
            let keys: Terminal = toml::from_str(text).unwrap();
            let sink = format!("{:?}", keys.of(Sink::stderr()));
            assert_eq!(sink, format!("{expected:?}"), "{text}");
        }
    }
}
