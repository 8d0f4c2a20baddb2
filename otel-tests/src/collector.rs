//! The OpenTelemetry Collector, and the telemetry that it received.

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::Value;

use crate::otlp::{Otlp, Protocol, values};
use crate::process::{Folder, Running, folder, ports, program};

/// A running Collector that writes to a file.
#[derive(Debug)]
pub struct Collector {
    otlp: Otlp,
    program: PathBuf,
    folder: Arc<Folder>,
    settings: PathBuf,
    received: PathBuf,
    http: u16,
    running: Option<Running>,
}

impl Collector {
    /// Starts the program in `OTELCOL_BIN`. Returns `None` if the variable is not set.
    #[must_use]
    pub fn start() -> Option<Self> {
        let mut collector = Self::stopped()?;
        collector.run();
        Some(collector)
    }

    /// Chooses the ports of a Collector that does not run yet. Returns `None` if the variable is
    /// not set.
    #[must_use]
    pub fn stopped() -> Option<Self> {
        let program = program("OTELCOL_BIN")?;
        let [grpc, http] = ports();
        let folder = folder();
        let (received, settings) =
            (folder.path().join("received.jsonl"), folder.path().join("settings.yaml"));
        fs::write(&settings, configuration(grpc, http, &received.display().to_string()))
            .expect("the settings can be written");
        let otlp = Otlp::new(grpc, http);
        Some(Self { otlp, program, folder, settings, received, http, running: None })
    }

    /// Starts the Collector, or kills it and starts it again on the same ports.
    pub fn run(&mut self) {
        self.kill();
        let folder = Arc::clone(&self.folder);
        let mut command = Command::new(&self.program);
        let running = Running::start(command.arg("--config").arg(&self.settings), folder);
        running.wait_for("Collector", || TcpStream::connect(("127.0.0.1", self.http)).ok());
        self.running = Some(running);
    }

    /// Kills the Collector.
    pub fn kill(&mut self) {
        self.running = None;
    }

    /// Returns a provider that exports spans to this Collector.
    #[must_use]
    pub fn tracer_provider(&self, protocol: Protocol) -> SdkTracerProvider {
        self.otlp.tracer_provider(protocol)
    }

    /// Returns a provider that exports log records to this Collector.
    #[must_use]
    pub fn logger_provider(&self, protocol: Protocol) -> SdkLoggerProvider {
        self.otlp.logger_provider(protocol)
    }

    /// Returns the `OTEL_EXPORTER_OTLP_ENDPOINT` for a program that uses Protobuf over HTTP.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.otlp.http_base()
    }

    /// Waits for `count` items of the key, `spans` or `logRecords`, and returns all.
    #[must_use]
    pub fn received(&self, key: &str, count: usize) -> Vec<Value> {
        let running = self.running.as_ref().expect("the Collector runs");
        running.wait_for(&format!("{count} {key}"), || {
            let lists = self.all(key);
            let records: Vec<_> =
                lists.iter().filter_map(Value::as_array).flatten().cloned().collect();
            (records.len() >= count).then_some(records)
        })
    }

    /// Returns the values of the key that have arrived so far.
    #[must_use]
    pub fn all(&self, key: &str) -> Vec<Value> {
        let text = fs::read_to_string(&self.received).unwrap_or_default();
        // The last line may be incomplete.
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let trees = lines.map(|line| serde_json::from_str(line).expect("each line is JSON"));
        trees
            .flat_map(|tree: Value| values(&tree, key).into_iter().cloned().collect::<Vec<_>>())
            .collect()
    }
}

fn configuration(grpc: u16, http: u16, file: &str) -> String {
    format!(
        r#"
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: "127.0.0.1:{grpc}"}}
      http: {{endpoint: "127.0.0.1:{http}"}}
exporters:
  file: {{path: "{file}", append: true, flush_interval: 50ms}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [file]}}
    logs: {{receivers: [otlp], exporters: [file]}}
"#
    )
}
