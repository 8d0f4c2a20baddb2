//! The keys of a collector.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use tach_otlp::{Compression, Otlp, Protocol, Signal, Temporality, adapter};

use super::calls::{call, keys};
use super::parsed::{End, Parsed, parsed};

keys! {
    Otlp;
    calls {
        from_env = |to: Self, is_on: bool| if is_on { Otlp::from_env() } else { to };
        detect_resource = |to: Self, is_on: bool| if is_on { to.detect_resource() } else { to };
        headers = |to: Self, Headers(all)| {
            all.iter().fold(to, |to, (name, value)| to.header(name, value))
        };
        attributes = |to: Self, all: BTreeMap<String, String>| {
            all.iter().fold(to, |to, (key, value)| to.attribute(key, value.as_str()))
        };
        signals = |to: Self, all: Vec<Parsed<_>>| to.signals(all.into_iter().map(|it| it.0));
        certificate = |to: Self, Parsed(path): Parsed<PathBuf>| to.certificate(path);
        client_certificate = |to: Self, ClientCertificate(Parsed(certificate), Parsed(key), End)| {
            to.client_certificate(certificate, key)
        };
    }
    texts endpoint service_name;
    parsed protocol compression timeout max_delay retry_for metric_interval temporality;
}

parsed! {
    Protocol = adapter::protocol, r#""http/protobuf" or "grpc""#;
    Compression = adapter::compression, r#""gzip" or "none""#;
    Temporality = adapter::temporality, r#""cumulative", "delta" or "lowmemory""#;
    Signal = |name: &str| match name {
        "logs" => Ok(Signal::Logs),
        "traces" => Ok(Signal::Traces),
        "metrics" => Ok(Signal::Metrics),
        _ => Err("it must be logs, traces or metrics"),
    }, r#""logs", "traces" or "metrics""#;
}

/// The arguments of [`Otlp::client_certificate`].
#[derive(Deserialize, Hash)]
#[serde(expecting = "a list of the paths of a certificate and its key")]
struct ClientCertificate(Parsed<PathBuf>, Parsed<PathBuf>, #[serde(default)] End);

/// Headers, whose values may be secrets.
#[derive(Hash)]
struct Headers(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Hide the error of the format, which may print a header's value: a secret.
        let hidden = |_| D::Error::custom("expected a table of names and texts");
        Deserialize::deserialize(from).map(Self).map_err(hidden)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::config::calls::Calls;

    #[test]
    fn each_key_is_a_method() {
        let text = r#"
            endpoint = "http://collector:4318"
            protocol = "http/protobuf"
            headers = { authorization = "secret" }
            compression = "gzip"
            service_name = "shop"
            detect_resource = true
            attributes = { region = "eu" }
            signals = ["logs", "traces"]
            timeout = "3s"
            max_delay = "20ms"
            retry_for = "2m"
            metric_interval = "10s"
            temporality = "delta"
            certificate = "/etc/tls/ca.pem"
            client_certificate = ["/etc/tls/client.pem", "/etc/tls/client.key"]
        "#;
        let keys: Calls<Otlp> = toml::from_str(text).unwrap();
        let expected = Otlp::new()
            .protocol(Protocol::HttpProtobuf)
            .endpoint("http://collector:4318")
            .header("authorization", "secret")
            .compression(Compression::Gzip)
            .service_name("shop")
            .detect_resource()
            .attribute("region", "eu")
            .signals([Signal::Logs, Signal::Traces])
            .timeout(Duration::from_secs(3))
            .max_delay(Duration::from_millis(20))
            .retry_for(Duration::from_secs(120))
            .metric_interval(Duration::from_secs(10))
            .temporality(Temporality::Delta)
            .certificate("/etc/tls/ca.pem")
            .client_certificate("/etc/tls/client.pem", "/etc/tls/client.key");
        assert_eq!(format!("{:?}", keys.on(Otlp::new())), format!("{expected:?}"));
    }
}
