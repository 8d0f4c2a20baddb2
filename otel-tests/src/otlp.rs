//! Export by OTLP, and the times in its JSON.

use opentelemetry_otlp::{LogExporter, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::Value;
use tokio::runtime::Runtime;

/// A transport of OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC.
    Grpc,
    /// Protobuf over HTTP.
    Http,
}

impl From<Protocol> for tach_otlp::Protocol {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http => Self::HttpProtobuf,
            Protocol::Grpc => Self::Grpc,
        }
    }
}

/// The ports of an OTLP receiver.
#[derive(Debug)]
pub(crate) struct Otlp {
    grpc: u16,
    http: u16,
    /// Tonic's runtime.
    runtime: Runtime,
}

impl Otlp {
    pub(crate) fn new(grpc: u16, http: u16) -> Self {
        Self { grpc, http, runtime: Runtime::new().expect("the runtime starts") }
    }

    pub(crate) fn tracer_provider(&self, protocol: Protocol) -> SdkTracerProvider {
        let _runtime = self.runtime.enter();
        let builder = SpanExporter::builder();
        let exporter = match protocol {
            Protocol::Grpc => builder.with_tonic().with_endpoint(self.grpc_endpoint()).build(),
            Protocol::Http => {
                builder.with_http().with_endpoint(self.http_endpoint("traces")).build()
            }
        };
        let exporter = exporter.expect("the exporter can be made");
        SdkTracerProvider::builder().with_batch_exporter(exporter).build()
    }

    pub(crate) fn logger_provider(&self, protocol: Protocol) -> SdkLoggerProvider {
        let _runtime = self.runtime.enter();
        let builder = LogExporter::builder();
        let exporter = match protocol {
            Protocol::Grpc => builder.with_tonic().with_endpoint(self.grpc_endpoint()).build(),
            Protocol::Http => builder.with_http().with_endpoint(self.http_endpoint("logs")).build(),
        };
        let exporter = exporter.expect("the exporter can be made");
        SdkLoggerProvider::builder().with_batch_exporter(exporter).build()
    }

    pub(crate) fn http_base(&self) -> String {
        format!("http://127.0.0.1:{}", self.http)
    }

    fn grpc_endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.grpc)
    }

    fn http_endpoint(&self, signal: &str) -> String {
        format!("{}/v1/{signal}", self.http_base())
    }
}

/// Returns all values of `key`, at any depth.
#[must_use]
pub fn values<'a>(tree: &'a Value, key: &str) -> Vec<&'a Value> {
    match tree {
        Value::Object(members) => {
            let within = members.values().flat_map(|value| values(value, key));
            members.get(key).into_iter().chain(within).collect()
        }
        Value::Array(items) => items.iter().flat_map(|item| values(item, key)).collect(),
        _ => Vec::new(),
    }
}

/// Reads a time in nanoseconds. OTLP's JSON has 64-bit integers as text.
#[must_use]
pub fn nanos(record: &Value, key: &str) -> u64 {
    let value = record[key].as_str().unwrap_or_else(|| panic!("{key} is missing in {record}"));
    value.parse().expect("it is a number")
}
