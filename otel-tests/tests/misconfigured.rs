//! The common mistakes at a real Collector: each has its sentence, in the incident, in the
//! statistics and in the error of a flush.

use std::sync::mpsc::channel;
use std::time::Duration;

use otel_tests::{Authority, Collector, Protocol, Settings};
use tach_pipeline::{Otlp, Pipeline, Signal, Sink};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

/// Long enough for a few tries.
const SOON: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(60);

/// Sends a span, which must fail, and returns the last error.
fn failure(otlp: Otlp) -> String {
    let (sender, incidents) = channel();
    let guard = Pipeline::builder()
        .sink(Sink::otlp(otlp.signals([Signal::Traces]).max_delay(LONG)))
        .on_incident(move |incident| {
            let _the_test_has_ended = sender.send(incident.to_string());
        })
        .flush_timeout(Duration::ZERO)
        .build()
        .unwrap();
    with_default(tracing_subscriber::registry().with(guard.pipeline().clone()), || {
        drop(tracing::info_span!("span"));
    });
    let error = guard.pipeline().flush(SOON).unwrap_err().to_string();
    let incident = incidents.recv_timeout(LONG).unwrap();
    let stats = guard.pipeline().stats();
    let last = stats.sinks()[0].last_error().unwrap().to_owned();
    assert!(error.contains(&last), "{error}: {last}");
    assert!(incident.contains("; "), "{incident}");
    assert_eq!(stats.sinks()[0].written(), 0);
    last
}

#[track_caller]
fn assert_says(otlp: Otlp, wanted: &str) {
    let error = failure(otlp);
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn a_wrong_port_protocol_path_or_scheme_has_its_sentence() {
    let Some(collector) = Collector::start() else { return };
    let (http, grpc) = (collector.port(Protocol::Http), collector.port(Protocol::Grpc));
    let at = |scheme: &str, port, path| format!("{scheme}://127.0.0.1:{port}{path}");
    let by = |protocol: Protocol, endpoint: String| {
        Otlp::new().protocol(protocol.into()).endpoint(&endpoint)
    };
    let no_grpc = "may have no gRPC there, for which it listens on port 4317";
    let no_tls = "may have no TLS there; then the endpoint must begin with http://";
    assert_says(by(Protocol::Http, at("http", grpc, "")), "may speak gRPC there");
    assert_says(by(Protocol::Grpc, at("http", http, "")), no_grpc);
    assert_says(by(Protocol::Http, at("https", http, "")), no_tls);
    assert_says(by(Protocol::Grpc, at("https", grpc, "")), no_tls);
    let wrong = by(Protocol::Http, at("http", http, "/wrong"));
    assert_says(wrong, "the endpoint must lead to a collector, whose path is /v1/traces");
    drop(collector);
    for protocol in [Protocol::Http, Protocol::Grpc] {
        assert_says(by(protocol, at("http", http, "")), "nobody listens there");
        let unknown = "http://no-such-host.invalid:4318".to_owned();
        assert_says(by(protocol, unknown), "the endpoint must have a host that this machine knows");
    }
}

#[test]
fn a_plain_connection_to_tls_has_its_sentence() {
    let authority = Authority::new("test");
    let certified = authority.issue(&["127.0.0.1"]);
    let settings = Settings { tls: Some(&certified), ..Settings::default() };
    let Some(mut collector) = Collector::with(&settings) else { return };
    collector.run();
    for (protocol, wanted) in [
        (Protocol::Http, "the endpoint must begin with https://"),
        (Protocol::Grpc, "or want TLS, with https://"),
    ] {
        let endpoint = format!("http://127.0.0.1:{}", collector.port(protocol));
        assert_says(Otlp::new().protocol(protocol.into()).endpoint(&endpoint), wanted);
    }
}
