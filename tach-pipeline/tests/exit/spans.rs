//! Every span that has ended is sent, however the process exits.

use std::env;
use std::process::{Command, Stdio};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use tach_pipeline::{Otlp, Pipeline, Signal, Sink};
use test_support::receiver::{Requests, serve};

use crate::{FOREVER, WAY, leave};

/// Set for a child that sends spans.
pub(crate) const ENDPOINT: &str = "TACH_PIPELINE_AT_EXIT_ENDPOINT";
const SPANS: u32 = 10_000;

/// The spans of three requests, whose gathering has begun when the signal comes.
fn terminated() {
    use core::time::Duration;
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::process::ExitStatusExt as _;
    use std::thread;

    for (way, signal) in [("terminated/default", "TERM"), ("terminated/forever", "INT")] {
        let (endpoint, requests) = serve();
        let mut child = Command::new(env::current_exe().unwrap());
        child.env(WAY, way).env(ENDPOINT, &endpoint).stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        thread::sleep(Duration::from_millis(800));
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let number = if signal == "TERM" { libc::SIGTERM } else { libc::SIGINT };
        assert_eq!(child.wait().unwrap().signal(), Some(number), "{way}");
        let mut names = names(&requests);
        names.sort_unstable();
        assert_eq!(names, ["query", "query", "query", "request", "request", "request"], "{way}");
    }
}

/// A service as in the guide.
fn serve_requests(way: &str, endpoint: &str) {
    use std::io::{self, Write as _};

    let mut otlp = Otlp::new().endpoint(endpoint).signals([Signal::Traces]);
    if way == "terminated/forever" {
        otlp = otlp.max_delay(FOREVER);
    }
    let builder = Pipeline::builder().sink(Sink::otlp(otlp)).flush_timeout(FOREVER);
    builder.init().unwrap();
    for number in 0..3 {
        let _request = tracing::info_span!("request", number).entered();
        drop(tracing::info_span!("query"));
    }
    io::stdout().write_all(b"ready\n").unwrap();
    std::thread::sleep(FOREVER);
}

pub(crate) fn parent() {
    terminated();
    for exit in ["return", "exit", "exit in a thread", "panic", "panic in a thread"] {
        for guard in ["living", "dropped"] {
            let (endpoint, requests) = serve();
            let way = format!("{exit}/{guard}");
            let mut child = Command::new(env::current_exe().unwrap());
            child.env(WAY, &way).env(ENDPOINT, &endpoint).stderr(Stdio::null());
            child.status().unwrap();
            let names = names(&requests);
            let count = |name: &str| names.iter().filter(|other| *other == name).count();
            assert_eq!(count("ended"), SPANS as usize, "{way}");
            // A panic and a return from `main` end the spans that the stack holds. Otherwise a span
            // that is still open is not sent.
            let is_dropped = matches!(exit, "return" | "panic" | "panic in a thread");
            assert_eq!(count("open"), usize::from(is_dropped), "{way}");
        }
    }
}

/// Returns the names of the spans that have arrived.
fn names(requests: &Requests) -> Vec<String> {
    let requests = requests.try_iter();
    let decoded = requests.map(|(_, body)| ExportTraceServiceRequest::decode(&*body).unwrap());
    let scopes = decoded.flat_map(|request| request.resource_spans);
    let spans = scopes.flat_map(|spans| spans.scope_spans).flat_map(|spans| spans.spans);
    spans.map(|span| span.name).collect()
}

pub(crate) fn child(way: &str, endpoint: &str) {
    crate::ends::use_defaults();
    if way.starts_with("terminated") {
        return serve_requests(way, endpoint);
    }
    let (exit, guard) = way.split_once('/').unwrap();
    // Only a flush sends the last spans.
    let otlp = Otlp::new().endpoint(endpoint).max_delay(FOREVER).signals([Signal::Traces]);
    let kept = Pipeline::builder().sink(Sink::otlp(otlp)).init().unwrap();
    let _living = match guard {
        "living" => Some(kept),
        "dropped" => {
            drop(kept);
            None
        }
        guard => panic!("no such guard: {guard}"),
    };
    let _open = tracing::info_span!("open").entered();
    (0..SPANS).for_each(|number| drop(tracing::info_span!("ended", number)));
    leave(exit);
}
