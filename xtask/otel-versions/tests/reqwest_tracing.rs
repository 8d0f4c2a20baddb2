//! The middleware of reqwest-tracing below the bridge. It takes no later version of opentelemetry.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use opentelemetry::global;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use prost::Message as _;
use reqwest_middleware::ClientBuilder;
use reqwest_tracing::TracingMiddleware;
use tach_pipeline::{Otlp, Pipeline, Signal, Sink};
use tokio::runtime::Builder;
use tracing::Instrument as _;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;

const LONG: Duration = Duration::from_secs(60);

/// Serves requests, and returns the address and each request's headers and body.
fn serve() -> (String, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = BufReader::new(stream);
            let (mut headers, mut length) = (String::new(), 0);
            while stream.read_line(&mut headers).is_ok_and(|count| count > 2) {
                let last = headers.lines().last().unwrap_or_default();
                if let Some(value) = last.strip_prefix("content-length: ") {
                    length = value.parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            sender.send((headers, body)).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            stream.get_mut().write_all(answer).unwrap();
        }
    });
    (address, requests)
}

#[test]
fn a_call_through_reqwest_tracing_is_one_trace() {
    global::set_text_map_propagator(TraceContextPropagator::new());
    let (collector, requests) = serve();
    let (server, calls) = serve();
    let spans =
        Sink::otlp(Otlp::new().endpoint(&collector).max_delay(LONG).signals([Signal::Traces]));
    let pipeline = Pipeline::builder().sink(spans).build().unwrap();
    let at_boundaries =
        filter_fn(|metadata| metadata.is_span() && metadata.fields().field("otel.kind").is_some());
    let layer = tracing_opentelemetry::layer().with_tracer(pipeline.tracer());
    let subscriber = tracing_subscriber::registry()
        .with(pipeline.clone())
        .with(layer.with_filter(at_boundaries));
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let client =
        ClientBuilder::new(reqwest::Client::new()).with(TracingMiddleware::default()).build();
    let handler = tracing::info_span!("handler");
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let call = async { client.get(format!("{server}/users/7")).send().await };
    assert!(runtime.block_on(call.instrument(handler)).unwrap().status().is_success());
    pipeline.flush(LONG).unwrap();

    let request = ExportTraceServiceRequest::decode(&requests.recv().unwrap().1[..]).unwrap();
    let of_scopes = request.resource_spans.into_iter().flat_map(|spans| spans.scope_spans);
    let spans: Vec<Span> = of_scopes.flat_map(|scope| scope.spans).collect();
    let [call, handler] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((&*handler.name, call.kind), ("handler", 3));
    assert_eq!((&call.trace_id, &call.parent_span_id), (&handler.trace_id, &handler.span_id));
    let hex = |id: &[u8]| -> String { id.iter().map(|byte| format!("{byte:02x}")).collect() };
    let header = format!("traceparent: 00-{}-{}-01", hex(&call.trace_id), hex(&call.span_id));
    let sent = calls.recv().unwrap().0;
    assert!(sent.contains(&header), "{sent} has no {header}");
}
