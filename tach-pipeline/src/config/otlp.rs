//! The keys of a collector.

use core::time::Duration;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use tach_otlp::{Compression, Otlp, Protocol, Signal, Temporality, adapter};

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
    #[serde(deserialize_with = "read::duration")]
    metric_interval: Option<Duration>,
    temporality: Option<TemporalityName>,
    #[serde(deserialize_with = "with_tls")]
    certificate: Option<PathBuf>,
    #[serde(deserialize_with = "with_tls")]
    client_certificate: Option<ClientKeys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `certificate` and `key`")]
struct ClientKeys {
    certificate: PathBuf,
    key: PathBuf,
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

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case", expecting = "the name of a temporality")]
enum TemporalityName {
    Cumulative,
    Delta,
}

impl From<TemporalityName> for Temporality {
    fn from(name: TemporalityName) -> Self {
        match name {
            TemporalityName::Cumulative => Self::Cumulative,
            TemporalityName::Delta => Self::Delta,
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

/// Reads the paths of an optional key.
///
/// # Errors
///
/// If tach-otlp has no TLS.
fn with_tls<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let given = Option::deserialize(from)?;
    if given.is_some() && !adapter::HAS_TLS {
        return Err(D::Error::custom("certificates need the feature `tls` of tach-otlp"));
    }
    Ok(given)
}

fn protocol<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Protocol>, D::Error> {
    let Some(name) = Option::<String>::deserialize(from)? else { return Ok(None) };
    // YAML gives an error that is made here the path of the table.
    let wanted = |wanted| D::Error::custom(format!("`protocol` can't be {name:?}: {wanted}"));
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
        let otlp = set(otlp, self.retry_for, Otlp::retry_for);
        let otlp = set(otlp, self.metric_interval, Otlp::metric_interval);
        let otlp = set(otlp, self.temporality.map(Temporality::from), Otlp::temporality);
        let otlp = set(otlp, self.certificate.as_deref(), adapter::certificate);
        set(otlp, self.client_certificate, |otlp, files| {
            adapter::client_certificate(otlp, &files.certificate, &files.key)
        })
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
            metric_interval = "10s"
            temporality = "delta"
            certificate = "/etc/tls/ca.pem"
            client_certificate = { certificate = "/etc/tls/client.pem", key = "/etc/tls/client.key" }
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
            .retry_for(Duration::from_secs(120))
            .metric_interval(Duration::from_secs(10))
            .temporality(Temporality::Delta)
            .certificate("/etc/tls/ca.pem")
            .client_certificate("/etc/tls/client.pem", "/etc/tls/client.key");
        assert_eq!(format!("{:?}", keys.otlp()), format!("{expected:?}"));
    }
}
