//! The keys of a collector.

use core::time::Duration;
use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use tach_otlp::{Compression, Otlp, Protocol, Signal, adapter};

use super::read::{self, set};
use super::secret::{self, Secret};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OtlpKeys {
    from_env: bool,
    endpoint: Option<String>,
    #[serde(deserialize_with = "protocol")]
    protocol: Option<Protocol>,
    #[serde(deserialize_with = "headers")]
    headers: BTreeMap<String, Secret>,
    compression: Option<CompressionName>,
    service_name: Option<String>,
    attributes: BTreeMap<String, String>,
    signals: Option<Vec<SignalName>>,
    #[serde(deserialize_with = "read::duration")]
    timeout: Option<Duration>,
    #[serde(deserialize_with = "read::duration")]
    max_delay: Option<Duration>,
    #[serde(deserialize_with = "read::duration")]
    retry_for: Option<Duration>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case", expecting = "the name of a signal")]
enum SignalName {
    Logs,
    Traces,
    Metrics,
}

impl From<SignalName> for Signal {
    fn from(name: SignalName) -> Self {
        match name {
            SignalName::Logs => Self::Logs,
            SignalName::Traces => Self::Traces,
            SignalName::Metrics => Self::Metrics,
        }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case", expecting = "the name of a compression")]
enum CompressionName {
    None,
    Gzip,
}

impl From<CompressionName> for Compression {
    fn from(name: CompressionName) -> Self {
        match name {
            CompressionName::None => Self::None,
            CompressionName::Gzip => Self::Gzip,
        }
    }
}

/// Reads all keys. A text in their place may be an endpoint with a password.
pub(super) fn keys<'de, D: Deserializer<'de>>(from: D) -> Result<OtlpKeys, D::Error> {
    secret::table(from, "a table with the keys of a collector, such as `endpoint`")
}

fn headers<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Secret>, D::Error> {
    secret::table(from, "a table of names and texts")
}

fn protocol<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Protocol>, D::Error> {
    let Some(name) = Option::<String>::deserialize(from)? else { return Ok(None) };
    let wanted = |wanted| D::Error::custom(format!("{name:?} can't be used: {wanted}"));
    adapter::protocol(&name).map(Some).map_err(wanted)
}

impl OtlpKeys {
    pub(super) fn otlp(self) -> Otlp {
        let otlp = if self.from_env { Otlp::from_env() } else { Otlp::new() };
        let otlp = set(otlp, self.protocol, Otlp::protocol);
        let otlp = set(otlp, self.endpoint.as_deref(), Otlp::endpoint);
        let headers = self.headers.iter();
        let otlp = headers.fold(otlp, |otlp, (name, Secret(value))| otlp.header(name, value));
        let otlp = set(otlp, self.compression.map(Compression::from), Otlp::compression);
        let otlp = set(otlp, self.service_name.as_deref(), Otlp::service_name);
        let otlp = self
            .attributes
            .iter()
            .fold(otlp, |otlp, (key, value)| otlp.attribute(key, value.as_str()));
        let otlp = set(otlp, self.signals, |otlp, names| {
            otlp.signals(names.into_iter().map(Signal::from))
        });
        let otlp = set(otlp, self.timeout, Otlp::timeout);
        let otlp = set(otlp, self.max_delay, Otlp::max_delay);
        set(otlp, self.retry_for, Otlp::retry_for)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_a_method() {
        let text = r#"
            endpoint = "http://collector:4318"
            protocol = "http/protobuf"
            headers = { authorization = "secret" }
            compression = "gzip"
            service_name = "shop"
            attributes = { region = "eu" }
            signals = ["logs", "traces"]
            timeout = "3s"
            max_delay = "20ms"
            retry_for = "2m"
        "#;
        let keys: OtlpKeys = toml::from_str(text).unwrap();
        let expected = Otlp::new()
            .protocol(Protocol::HttpProtobuf)
            .endpoint("http://collector:4318")
            .header("authorization", "secret")
            .compression(Compression::Gzip)
            .service_name("shop")
            .attribute("region", "eu")
            .signals([Signal::Logs, Signal::Traces])
            .timeout(Duration::from_secs(3))
            .max_delay(Duration::from_millis(20))
            .retry_for(Duration::from_secs(120));
        assert_eq!(format!("{:?}", keys.otlp()), format!("{expected:?}"));
    }
}
