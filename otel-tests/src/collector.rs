//! The OpenTelemetry Collector, and the telemetry that it received.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::Value;

use crate::certificates::Certified;
use crate::decode;
use crate::otlp::{Otlp, Protocol, values};
use crate::process::{Folder, Running, folder, ports, program};

/// Options of a Collector.
#[derive(Debug, Default)]
pub struct Settings<'a> {
    /// The certificate of its receivers, if they have TLS.
    pub tls: Option<&'a Certified>,
    /// The authority that must have signed the certificates of clients.
    pub clients: Option<&'a Path>,
    /// Whether it writes spans as Protobuf, and each request before its answer. Then a kill loses
    /// none.
    pub is_durable: bool,
    /// The endpoint that it passes spans on to, by OTLP over HTTP.
    pub next: Option<&'a str>,
}

/// A running Collector that writes to a file.
#[derive(Debug)]
pub struct Collector {
    otlp: Otlp,
    program: PathBuf,
    folder: Arc<Folder>,
    settings: PathBuf,
    /// The settings, with `FILE` for the exporter of the next run.
    text: String,
    received: PathBuf,
    is_durable: bool,
    /// How often it was started.
    runs: u32,
    grpc: u16,
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
            (folder.path().join("received"), folder.path().join("settings.yaml"));
        let text = configuration(grpc, http, &tls(options), options.next);
        let otlp = Otlp::new(grpc, http);
        let (is_durable, runs, running) = (options.is_durable, 0, None);
        Some(Self {
            otlp,
            program,
            folder,
            settings,
            text,
            received,
            is_durable,
            runs,
            grpc,
            http,
            running,
        })
    }

    /// Starts the Collector, or kills it and starts it again on the same ports.
    pub fn run(&mut self) {
        self.kill();
        self.runs += 1;
        let file = self.file(self.runs).display().to_string();
        let file = if self.is_durable {
            // Only an exporter that rotates has no buffer.
            format!(r#"path: "{file}", format: proto, rotation: {{max_megabytes: 1000000}}"#)
        } else {
            format!(r#"path: "{file}", append: true, flush_interval: 50ms"#)
        };
        fs::write(&self.settings, self.text.replace("FILE", &file))
            .expect("the settings can be written");
        let folder = Arc::clone(&self.folder);
        let mut command = Command::new(&self.program);
        let running = Running::start(command.arg("--config").arg(&self.settings), folder);
        running.wait_for("Collector", || TcpStream::connect(("127.0.0.1", self.http)).ok());
        self.running = Some(running);
    }

    /// Returns the file of that run. One that is durable has one for each, since a message that was
    /// written in part must be the last one.
    fn file(&self, run: u32) -> PathBuf {
        self.received.with_extension(if self.is_durable { run.to_string() } else { String::new() })
    }

    /// Has the Collector end as it does when its host is shut down, and waits for it.
    pub fn terminate(&mut self) {
        if let Some(running) = self.running.take() {
            running.terminate();
        }
    }

    /// Calls `visit` with each span that a durable Collector has written.
    pub fn spans(&self, mut visit: impl FnMut(Span)) {
        assert!(self.is_durable, "the others write JSON");
        for run in 1..=self.runs {
            let Ok(bytes) = fs::read(self.file(run)) else { continue };
            let mut rest = &*bytes;
            while let Some((length, after)) = rest.split_first_chunk() {
                let length = u32::from_be_bytes(*length) as usize;
                // The last message may be incomplete.
                let Some((message, after)) = after.split_at_checked(length) else { break };
                rest = after;
                let traces: ExportTraceServiceRequest = decode(message);
                let of_scope = traces.resource_spans.into_iter().flat_map(|it| it.scope_spans);
                of_scope.flat_map(|it| it.spans).for_each(&mut visit);
            }
        }
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

    /// Returns the port of a protocol.
    #[must_use]
    pub fn port(&self, protocol: Protocol) -> u16 {
        match protocol {
            Protocol::Grpc => self.grpc,
            Protocol::Http => self.http,
        }
    }

    /// Waits for `count` items of the key, such as `spans` or `logRecords`, and returns all.
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
        let text = fs::read_to_string(self.file(self.runs)).unwrap_or_default();
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

fn configuration(grpc: u16, http: u16, tls: &str, next: Option<&str>) -> String {
    let (exporter, name) = next.map_or_else(Default::default, |next| {
        (format!(r#"otlphttp: {{endpoint: "{next}", compression: none}}"#), ", otlphttp")
    });
    format!(
        r#"
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: "127.0.0.1:{grpc}"{tls}}}
      http: {{endpoint: "127.0.0.1:{http}"{tls}}}
exporters:
  file: {{FILE}}
  {exporter}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [file{name}]}}
    logs: {{receivers: [otlp], exporters: [file]}}
    metrics: {{receivers: [otlp], exporters: [file]}}
"#
    )
}
