//! Jaeger, and the traces that its query API returns.

use std::path::Path;
use std::process::Command;

use opentelemetry::trace::TraceId;
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::Value;

use crate::otlp::{Otlp, Protocol, nanos, values};
use crate::process::{Running, folder, ports, program};

/// A running Jaeger with its storage in memory.
#[derive(Debug)]
pub struct Jaeger {
    otlp: Otlp,
    otlp_http: u16,
    query: u16,
    running: Running,
}

/// A span that Jaeger returned. Times are in nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The name.
    pub name: String,
    /// The id.
    pub id: String,
    /// The parent's id; empty for a root.
    pub parent: String,
    /// The start.
    pub start_ns: u64,
    /// The end.
    pub end_ns: u64,
}

impl Jaeger {
    /// Starts the program in `JAEGER_BIN`. Returns `None` if the variable is not set.
    #[must_use]
    pub fn start() -> Option<Self> {
        let program = program("JAEGER_BIN")?;
        let [grpc, http, query, query_grpc, health] = ports();
        let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("jaeger.yaml");
        let mut command = Command::new(program);
        command.arg("--config").arg(settings);
        for (name, port) in [
            ("OTLP_GRPC_PORT", grpc),
            ("OTLP_HTTP_PORT", http),
            ("JAEGER_QUERY_PORT", query),
            ("JAEGER_QUERY_GRPC_PORT", query_grpc),
            ("JAEGER_HEALTH_PORT", health),
        ] {
            command.env(name, port.to_string());
        }
        let running = Running::start(&mut command, folder());
        let otlp = Otlp::new(grpc, http);
        let jaeger = Self { otlp, otlp_http: http, query, running };
        jaeger.running.wait_for("Jaeger", || jaeger.ask("api/services"));
        Some(jaeger)
    }

    /// Returns a provider that exports to this Jaeger.
    #[must_use]
    pub fn tracer_provider(&self) -> SdkTracerProvider {
        self.otlp.tracer_provider(Protocol::Grpc)
    }

    /// Returns the `OTEL_EXPORTER_OTLP_ENDPOINT` for another process.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.otlp_http)
    }

    /// Returns a folder that is removed with this Jaeger.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.running.folder()
    }

    /// Waits for `count` spans of a trace, and returns its spans.
    #[must_use]
    pub fn trace(&self, trace: TraceId, count: usize) -> Vec<Span> {
        self.whole_trace(&trace.to_string(), count).iter().map(Span::read).collect()
    }

    /// Waits for `count` spans of a trace, and returns its spans as OTLP has them in JSON.
    #[must_use]
    pub fn whole_trace(&self, trace: &str, count: usize) -> Vec<Value> {
        self.running.wait_for(&format!("{count} spans of trace {trace}"), || {
            let tree = self.ask(&format!("api/v3/traces/{trace}"))?;
            let lists = values(&tree, "spans").into_iter().filter_map(Value::as_array);
            let spans: Vec<_> = lists.flatten().cloned().collect();
            (spans.len() >= count).then_some(spans)
        })
    }

    fn ask(&self, path: &str) -> Option<Value> {
        let url = format!("http://127.0.0.1:{}/{path}", self.query);
        let answer = reqwest::blocking::get(url).ok()?;
        if !answer.status().is_success() {
            return None;
        }
        serde_json::from_str(&answer.text().ok()?).ok()
    }
}

impl Span {
    fn read(span: &Value) -> Self {
        let text = |key: &str| span[key].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            id: text("spanId"),
            parent: text("parentSpanId"),
            start_ns: nanos(span, "startTimeUnixNano"),
            end_ns: nanos(span, "endTimeUnixNano"),
        }
    }
}
