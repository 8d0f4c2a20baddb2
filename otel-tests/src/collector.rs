//! The OpenTelemetry Collector, and the telemetry that it received.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::Value;

use crate::certificates::Certified;
use crate::otlp::{Otlp, Protocol, values};
use crate::process::{Folder, Running, folder, ports, program};

/// Options of a Collector.
#[derive(Debug, Default)]
pub struct Settings<'a> {
    /// The certificate of its receivers, if they have TLS.
    pub tls: Option<&'a Certified>,
    /// The authority that must have signed the certificates of clients.
    pub clients: Option<&'a Path>,
}

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
        Self::with(&Settings::default())
    }

    /// Sets up a Collector that does not run yet. Returns `None` if the variable is not set.
    #[must_use]
    pub fn with(options: &Settings<'_>) -> Option<Self> {
        let program = program("OTELCOL_BIN")?;
        let [grpc, http] = ports();
        let folder = folder();
        let (received, settings) =
            (folder.path().join("received.jsonl"), folder.path().join("settings.yaml"));
        let tls = tls(options);
        fs::write(&settings, configuration(grpc, http, &tls, &received.display().to_string()))
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

    /// Returns the port for Protobuf over HTTP.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.http
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

/// Returns the key `tls` of a receiver.
fn tls(settings: &Settings<'_>) -> String {
    let Some(Certified { certificate, key }) = settings.tls else { return String::new() };
    let (certificate, key) = (certificate.display(), key.display());
    let clients = settings.clients.map(|file| format!(r#", client_ca_file: "{}""#, file.display()));
    let clients = clients.unwrap_or_default();
    format!(r#", tls: {{cert_file: "{certificate}", key_file: "{key}"{clients}}}"#)
}

fn configuration(grpc: u16, http: u16, tls: &str, file: &str) -> String {
    format!(
        r#"
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: "127.0.0.1:{grpc}"{tls}}}
      http: {{endpoint: "127.0.0.1:{http}"{tls}}}
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
