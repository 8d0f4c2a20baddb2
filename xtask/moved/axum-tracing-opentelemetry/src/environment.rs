//! The names that the tests use, over what a service had before or has after its move.

use std::io;
use std::sync::{Arc, Mutex};
use std::{env, fs};

use opentelemetry_sdk::propagation::TraceContextPropagator;
use serde_json::Value;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

use crate::before::Telemetry;
use crate::seen::Seen;

pub struct FakeEnvironment {
    telemetry: Telemetry,
    lines: Lines,
    _current: DefaultGuard,
}

impl FakeEnvironment {
    pub async fn setup() -> Self {
        Self::setup_with_filter("trace").await
    }

    pub async fn setup_with_filter(filter: &str) -> Self {
        opentelemetry::global::set_text_map_propagator(TraceContextPropagator::new());
        let lines = Lines::default();
        let (telemetry, current) = Telemetry::new(filter, lines.clone());
        Self { telemetry, lines, _current: current }
    }

    pub async fn collect_traces(&mut self) -> (Vec<Value>, Vec<Seen>) {
        let spans = self.telemetry.spans();
        let lines = std::mem::take(&mut *self.lines.0.lock().unwrap());
        let lines = String::from_utf8(lines).unwrap();
        (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), spans)
    }
}

/// Writes what has arrived to a file, for a comparison.
pub fn assert_trace(name: &str, events: Vec<Value>, spans: Vec<Seen>, is_trace_id_constant: bool) {
    let messages: Vec<_> = events.iter().map(|event| &event["fields"]["message"]).collect();
    let mut arrived: Vec<_> = spans.iter().map(|span| format!("{name}: {span}\n")).collect();
    arrived.sort();
    arrived.push(format!("{name}: {} events of spans\n", messages.len()));
    let first = spans.first().map(|span| span.trace_id.as_str());
    assert!(spans.iter().all(|span| Some(&*span.trace_id) == first), "one trace");
    if is_trace_id_constant {
        assert_eq!(first, Some("b2611246a58fd7ea623d2264c5a1e226"));
    }
    if let Some(folder) = env::var_os("MOVED_SPANS") {
        fs::write(std::path::Path::new(&folder).join(name), arrived.concat()).unwrap();
    }
}

/// Lines of JSON.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
