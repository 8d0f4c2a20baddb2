//! The keys of a sink.

use core::time::Duration;

use serde::Deserialize;

use super::file::FileKeys;
use super::format::Format;
#[cfg(feature = "otlp")]
use super::otlp::{self, OtlpKeys};
use super::read::{self, at_most_one, set, turn_on};
#[cfg(feature = "syslog")]
use super::syslog::SyslogKeys;
use crate::pipeline::builder::Builder;
use crate::sink::{Sink, kind};

#[derive(Debug, Deserialize)]
#[serde(try_from = "SinkKeys")]
pub(super) struct AnySink(Sink);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SinkKeys {
    #[serde(deserialize_with = "read::choice")]
    to: To,
    #[serde(default, deserialize_with = "read::optional_choice")]
    format: Option<Format>,
    filter: Option<String>,
    #[serde(default, deserialize_with = "read::duration")]
    stall_timeout: Option<Duration>,
    buffer_bytes: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum To {
    Stdout(Terminal),
    Stderr(Terminal),
    File(FileKeys),
    #[cfg(feature = "syslog")]
    Syslog(SyslogKeys),
    #[cfg(all(target_os = "linux", feature = "journald"))]
    Journald {},
    #[cfg(feature = "otlp")]
    Otlp(#[serde(deserialize_with = "otlp::keys")] OtlpKeys),
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Terminal {
    colors: bool,
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
        let sink = set(sink, keys.filter.as_deref(), Sink::filter);
        let sink = set(sink, keys.stall_timeout, Sink::stall_timeout);
        Ok(Self(set(sink, keys.buffer_bytes, Sink::buffer_bytes)))
    }
}

impl To {
    /// # Errors
    ///
    /// If keys exclude each other.
    fn sink(self, format: Option<Format>) -> Result<Sink, String> {
        match self {
            Self::Stdout(keys) => formatted(keys.of(Sink::stdout())?, format),
            Self::Stderr(keys) => formatted(keys.of(Sink::stderr())?, format),
            Self::File(keys) => formatted(keys.sink()?, format),
            #[cfg(feature = "syslog")]
            Self::Syslog(keys) => formatted(Sink::syslog(keys.syslog()?), format),
            #[cfg(all(target_os = "linux", feature = "journald"))]
            Self::Journald {} => unformatted(Sink::journald(), format.as_ref()),
            #[cfg(feature = "otlp")]
            Self::Otlp(keys) => unformatted(Sink::otlp(keys.otlp()?), format.as_ref()),
        }
    }
}

impl Terminal {
    fn of(&self, sink: Sink<kind::Stream>) -> Result<Sink<kind::Stream>, String> {
        at_most_one(&[("colors", self.colors), ("without_colors", self.without_colors)])?;
        let sink = turn_on(sink, self.colors, Sink::colors);
        Ok(turn_on(sink, self.without_colors, Sink::without_colors))
    }
}

fn formatted<K: kind::TakesFormat>(sink: Sink<K>, format: Option<Format>) -> Result<Sink, String>
where
    Sink<K>: Into<Sink>,
{
    match format {
        Some(format) => Ok(format.of(sink)?.into()),
        None => Ok(sink.into()),
    }
}

#[cfg(any(feature = "otlp", all(target_os = "linux", feature = "journald")))]
fn unformatted(sink: Sink<kind::OneFormat>, format: Option<&Format>) -> Result<Sink, String> {
    match format {
        Some(_) => Err("the receiver reads one format alone, expected no key `format`".to_owned()),
        None => Ok(sink.into()),
    }
}
