//! Spans by gRPC to a server that answers as a test has it, and within runtimes.

use std::error::Error;
use std::io;
use std::net::TcpListener;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use otel_tests::{Collector, Protocol};
use tach_otlp::Compression;
use tach_pipeline::{
    Guard, Otlp, Pipeline, Sampling, Signal, Sink, SinkStats, SpanExt as _, TraceContext,
};
use tokio::runtime::{Builder, Runtime};
use tonic::codec::CompressionEncoding;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use tracing::Dispatch;
use tracing::dispatcher::with_default as with_dispatch;
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

/// Long enough for any machine: no test fails by being slow.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

type Answer = Result<ExportTraceServiceResponse, Status>;

/// A server that answers by a function and keeps the requests.
struct Answers<F> {
    answer: Mutex<F>,
    requests: Sender<Request<ExportTraceServiceRequest>>,
}

#[tonic::async_trait]
impl<F: FnMut(&ExportTraceServiceRequest) -> Answer + Send + 'static> TraceService for Answers<F> {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answer(request.get_ref());
        let _the_test_has_ended = self.requests.send(request);
        answer.map(Response::new)
    }
}

struct Served {
    endpoint: String,
    requests: Receiver<Request<ExportTraceServiceRequest>>,
    _runtime: Runtime,
}

fn serve(answer: impl FnMut(&ExportTraceServiceRequest) -> Answer + Send + 'static) -> Served {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (sender, requests) = channel();
    let service = TraceServiceServer::new(Answers { answer: Mutex::new(answer), requests: sender });
    let service = service.accept_compressed(CompressionEncoding::Gzip);
    let service = service.max_decoding_message_size(usize::MAX);
    let runs = runtime.enter();
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let endpoint = format!("http://{}", incoming.local_addr().unwrap());
    runtime.spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
    drop(runs);
    Served { endpoint, requests, _runtime: runtime }
}

/// Serves with these answers, and accepts all further requests.
fn serve_answers(answers: impl IntoIterator<Item = Answer>) -> Served {
    let mut answers = answers.into_iter().collect::<Vec<_>>().into_iter();
    serve(move |_| answers.next().unwrap_or(Ok(ExportTraceServiceResponse::default())))
}

fn build(otlp: Otlp) -> Guard {
    let pipeline = Pipeline::builder()
        .sink(Sink::otlp(otlp.protocol(tach_otlp::Protocol::Grpc).signals([Signal::Traces])));
    pipeline.on_incident(|_| ()).flush_timeout(SHORT).build().unwrap()
}

fn start_spans<'a>(pipeline: &Pipeline, names: impl IntoIterator<Item = &'a str>) {
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        names.into_iter().for_each(|name| drop(tracing::info_span!("span", otel.name = name)));
    });
}

fn names(request: ExportTraceServiceRequest) -> Vec<String> {
    let of_scope = request.resource_spans.into_iter().flat_map(|it| it.scope_spans);
    of_scope.flat_map(|it| it.spans).map(|span| span.name).collect()
}

impl Served {
    fn next(&self) -> Vec<String> {
        names(self.requests.recv().unwrap().into_inner())
    }
}

fn sink(pipeline: &Pipeline) -> SinkStats {
    pipeline.stats().sinks()[0].clone()
}

#[test]
fn a_call_has_the_headers_and_the_spans() {
    for compression in [Compression::None, Compression::Gzip] {
        let served = serve_answers([]);
        let otlp = Otlp::new().endpoint(&served.endpoint).max_delay(LONG);
        let guard = build(otlp.header("X-Api-Key", "secret").compression(compression));
        // The bound of a name: together with the rest, longer than the window that a server opens
        // at first.
        let long = "é".repeat(32 * 1024);
        start_spans(guard.pipeline(), ["first", &long]);
        guard.pipeline().flush(LONG).unwrap();
        let request = served.requests.recv().unwrap();
        let header = |name: &str| request.metadata().get(name).map(|it| it.to_str().unwrap());
        assert_eq!(header("x-api-key"), Some("secret"));
        assert_eq!(header("grpc-encoding"), (compression == Compression::Gzip).then_some("gzip"));
        assert!(header("user-agent").unwrap().starts_with("tach-OTLP-Exporter-Rust/"));
        let mut sent = names(request.into_inner());
        sent.extend(served.requests.try_iter().flat_map(|request| names(request.into_inner())));
        assert!(sent == ["first", &long], "{}", sent.len());
        assert_eq!((sink(guard.pipeline()).written(), sink(guard.pipeline()).failures()), (2, 0));
    }
}

/// Of 1,000 requests, the callers have sampled ten. The parent is set after the start.
#[test]
fn spans_that_callers_have_sampled_are_whole() {
    for is_layer in [false, true] {
        let served = serve_answers([]);
        let otlp = Otlp::new().endpoint(&served.endpoint).max_delay(LONG);
        let otlp = otlp.protocol(tach_otlp::Protocol::Grpc).signals([Signal::Traces]);
        let builder = Pipeline::builder().sink(Sink::otlp(otlp)).sampling(Sampling::ratio(0.01));
        let guard = builder.build().unwrap();
        let subscriber = if is_layer {
            Dispatch::new(tracing_subscriber::registry().with(guard.pipeline().clone()))
        } else {
            Dispatch::new(guard.pipeline().subscriber())
        };
        with_dispatch(&subscriber, || (1..=1_000).for_each(serve_request));
        drop(subscriber);
        guard.pipeline().flush(LONG).unwrap();
        let requests = served.requests.try_iter().map(Request::into_inner);
        let of_scope = requests.flat_map(|it| it.resource_spans).flat_map(|it| it.scope_spans);
        let spans: Vec<_> = of_scope.flat_map(|it| it.spans).collect();
        assert_eq!(spans.len(), 10);
        for span in spans {
            let number = u64::from_be_bytes(span.parent_span_id[..].try_into().unwrap());
            assert_eq!(span.name, format!("GET /{number}"));
            assert_eq!((span.kind, span.flags, &*span.trace_state), (2, 0x303, "vendor=1"));
            let keys = |of: &[KeyValue], prefix| {
                let keys = of.iter().map(|it| it.key.clone());
                keys.filter(|key| key.starts_with(prefix)).collect::<Vec<_>>()
            };
            assert_eq!(keys(&span.attributes, "number"), ["number"]);
            // Nothing is said of sources, of which there are none.
            let [event] = &span.events[..] else { panic!("one event is added: {span:?}") };
            let exception = ["exception.message", "exception.type"];
            assert_eq!(keys(&event.attributes, "exception"), exception);
            assert_eq!(keys(&event.attributes, "error"), ["error"]);
            let status = span.status.unwrap();
            assert_eq!((status.code, &*status.message), (2, "panicked"));
        }
    }
}

/// Serves a request whose handler logs an error and panics.
fn serve_request(number: u64) {
    let span = tracing::info_span!(
        "request",
        otel.kind = "server",
        otel.name = format!("GET /{number}"),
        number,
    );
    let flags = if number.is_multiple_of(100) { "03" } else { "00" };
    let header = format!("00-{number:032x}-{number:016x}-{flags}");
    assert!(span.set_remote_parent(&TraceContext::from_headers(&header, "vendor=1").unwrap()));
    let handler = || {
        let error = io::Error::other("disk full");
        let exception = std::any::type_name_of_val(&error);
        let error: &(dyn Error + 'static) = &error;
        tracing::warn!(error, exception.type = exception, "not saved");
        // Without the hook, which prints.
        panic::resume_unwind(Box::new("the handler panics"));
    };
    let panicked = panic::catch_unwind(AssertUnwindSafe(|| span.in_scope(handler)));
    assert!(panicked.is_err());
}

#[test]
fn a_busy_server_gets_the_same_again() {
    let no_delay = ErrorDetails::with_retry_info(Some(Duration::ZERO));
    let exhausted = Status::with_error_details(Code::ResourceExhausted, "full", no_delay);
    let busy = [Code::Unavailable, Code::Aborted, Code::DataLoss].map(|it| Status::new(it, "busy"));
    for busy in busy.into_iter().chain([exhausted]) {
        let served = serve_answers([Err(busy.clone()), Err(busy)]);
        let guard = build(Otlp::new().endpoint(&served.endpoint).max_delay(SHORT));
        start_spans(guard.pipeline(), ["once"]);
        let sent: Vec<_> = (0..3).map(|_| served.next()).collect();
        assert_eq!(sent, [["once"], ["once"], ["once"]]);
        while sink(guard.pipeline()).written() == 0 {
            thread::sleep(SHORT);
        }
        assert_eq!((sink(guard.pipeline()).dropped(), sink(guard.pipeline()).failures()), (0, 2));
    }
}

/// The program starts no further spans. Nobody knows before the pause whether the server works.
#[test]
fn a_span_that_is_never_taken_keeps_no_other() {
    for code in [Code::Unavailable, Code::OutOfRange] {
        let served = serve(move |request| match names(request.clone()) {
            names if names.iter().any(|name| name == "bad") => Err(Status::new(code, "busy")),
            _ => Ok(ExportTraceServiceResponse::default()),
        });
        let guard = build(Otlp::new().endpoint(&served.endpoint).max_delay(LONG));
        start_spans(
            guard.pipeline(),
            (0..100).map(|number| if number == 70 { "bad" } else { "good" }),
        );
        while sink(guard.pipeline()).written() < 99 {
            let _waits = guard.pipeline().flush(SHORT);
            thread::sleep(SHORT);
        }
        assert_eq!((sink(guard.pipeline()).dropped(), sink(guard.pipeline()).waiting()), (0, 1));
        let taken = served.requests.try_iter().map(|request| names(request.into_inner()));
        let good = taken.filter(|names| !names.iter().any(|name| name == "bad")).flatten();
        assert_eq!(good.count(), 99, "each once");
    }
}

#[test]
fn a_pause_that_the_server_asks_for_is_kept() {
    let hour = ErrorDetails::with_retry_info(Some(Duration::from_secs(3600)));
    let full = Status::with_error_details(Code::ResourceExhausted, "full", hour);
    let served = serve_answers([Err(full)]);
    let guard = build(Otlp::new().endpoint(&served.endpoint).max_delay(SHORT));
    start_spans(guard.pipeline(), ["once"]);
    assert_eq!(served.next(), ["once"]);
    while sink(guard.pipeline()).failures() == 0 {
        thread::sleep(SHORT);
    }
    // Longer than any first pause without that detail.
    thread::sleep(Duration::from_secs(1));
    assert!(served.requests.try_recv().is_err());
    // A flush keeps the pause too, and says why.
    let error = guard.pipeline().flush(SHORT).unwrap_err().to_string();
    assert!(error.contains("full; it asks to wait 3600s"), "{error}");
    assert!(served.requests.try_recv().is_err());
}

#[test]
fn a_refused_call_is_counted_and_not_repeated() {
    // What may be refused for one span is sent again in halves, each once.
    for (code, sizes) in [
        (Code::InvalidArgument, vec![2, 1, 1]),
        (Code::ResourceExhausted, vec![2, 1, 1]),
        (Code::Unauthenticated, vec![2]),
    ] {
        let refused = sizes.iter().map(|_| Err(Status::new(code, "a reason, in 100 %")));
        let served = serve_answers(refused.collect::<Vec<_>>());
        let guard = build(Otlp::new().endpoint(&served.endpoint).max_delay(LONG));
        start_spans(guard.pipeline(), ["one", "two"]);
        let error = guard.pipeline().flush(LONG).unwrap_err().to_string();
        let wanted = format!("gRPC {} ", code as i32);
        assert!(error.contains(&wanted) && error.contains(": a reason, in 100 %"), "{error}");
        let sent: Vec<_> = sizes.iter().map(|_| served.next().len()).collect();
        assert_eq!(sent, sizes, "{code:?}");
        start_spans(guard.pipeline(), ["next"]);
        guard.pipeline().flush(LONG).unwrap();
        assert_eq!(served.next(), ["next"]);
        assert_eq!(
            (sink(guard.pipeline()).dropped(), sink(guard.pipeline()).written()),
            (2, 1),
            "{code:?}"
        );
    }
}

#[test]
fn a_partial_success_counts_what_was_rejected() {
    let error_message = "too large".to_owned();
    let rejected = ExportTracePartialSuccess { rejected_spans: 3, error_message };
    let answer = ExportTraceServiceResponse { partial_success: Some(rejected) };
    let served = serve_answers([Ok(answer)]);
    let guard = build(Otlp::new().endpoint(&served.endpoint).max_delay(LONG));
    start_spans(guard.pipeline(), ["some"; 10]);
    let error = guard.pipeline().flush(LONG).unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
    assert_eq!((sink(guard.pipeline()).dropped(), sink(guard.pipeline()).written()), (3, 7));
}

/// Each answer comes after the timeout, until one is quick.
#[test]
fn a_slow_server_gets_the_same_again() {
    let mut delays = [10, 10].into_iter();
    let served = serve(move |_| {
        thread::sleep(delays.next().unwrap_or(0) * SHORT);
        Ok(ExportTraceServiceResponse::default())
    });
    let otlp = Otlp::new().endpoint(&served.endpoint).max_delay(SHORT).timeout(5 * SHORT);
    let guard = build(otlp);
    start_spans(guard.pipeline(), ["once"]);
    while guard.pipeline().flush(LONG).is_err() {}
    assert_eq!((sink(guard.pipeline()).dropped(), sink(guard.pipeline()).written()), (0, 1));
    assert!(sink(guard.pipeline()).failures() >= 1);
}

/// Each flush returns when the server has accepted, whether it was busy, asked for a pause, was
/// slow or did not listen yet.
#[test]
fn a_flush_delivers_to_a_server_that_accepts_in_time() {
    let outage = Duration::from_millis(500);
    let second = ErrorDetails::with_retry_info(Some(Duration::from_secs(1)));
    let full = Status::with_error_details(Code::ResourceExhausted, "full", second);
    for busy in [Some(Status::unavailable("busy")), Some(full), None] {
        let start = Instant::now();
        let served = serve(move |_| {
            match &busy {
                Some(busy) if start.elapsed() < outage => return Err(busy.clone()),
                Some(_) => {}
                None => thread::sleep(outage),
            }
            Ok(ExportTraceServiceResponse::default())
        });
        let guard = build(Otlp::new().endpoint(&served.endpoint).max_delay(LONG));
        start_spans(guard.pipeline(), ["late"]);
        guard.pipeline().flush(LONG).unwrap();
        assert_eq!((sink(guard.pipeline()).dropped(), sink(guard.pipeline()).written()), (0, 1));
    }
    let Some(mut collector) = Collector::stopped() else { return };
    let port = collector.port(Protocol::Grpc);
    let guard = build(Otlp::new().endpoint(format!("http://127.0.0.1:{port}")));
    start_spans(guard.pipeline(), ["late"]);
    thread::scope(|scope| {
        let flush = scope.spawn(|| guard.pipeline().flush(LONG));
        while sink(guard.pipeline()).failures() == 0 {
            thread::sleep(SHORT);
        }
        collector.run();
        flush.join().unwrap().unwrap();
    });
    // The connection that is kept ends with the Collector.
    collector.terminate();
    start_spans(guard.pipeline(), ["later"]);
    collector.run();
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!((sink(guard.pipeline()).dropped(), sink(guard.pipeline()).written()), (0, 2));
}

#[test]
fn a_server_of_something_else_is_named() {
    // It accepts connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let guard = build(Otlp::new().endpoint(&endpoint).timeout(5 * SHORT));
    start_spans(guard.pipeline(), ["once"]);
    let error = guard.pipeline().flush(50 * SHORT).unwrap_err().to_string();
    assert!(error.contains("timed out"), "{error}");

    let (endpoint, _requests) = otel_tests::serve();
    let guard = build(Otlp::new().endpoint(&endpoint).timeout(5 * SHORT));
    start_spans(guard.pipeline(), ["once"]);
    assert!(guard.pipeline().flush(50 * SHORT).is_err());

    let Some(collector) = Collector::start() else { return };
    let guard = build(Otlp::new().endpoint(collector.endpoint()));
    start_spans(guard.pipeline(), ["once"]);
    let error = guard.pipeline().flush(50 * SHORT).unwrap_err().to_string();
    assert!(error.contains("4317"), "{error}");
}

/// The thread of a runtime that has one waits in the flush, and nothing needs that thread.
#[test]
fn a_flush_within_a_runtime_ends() {
    let Some(collector) = Collector::start() else { return };
    let endpoint = format!("http://127.0.0.1:{}", collector.port(Protocol::Grpc));
    let one = Builder::new_current_thread().enable_all().build().unwrap();
    for (number, runtime) in [one, Runtime::new().unwrap()].into_iter().enumerate() {
        runtime.block_on(async {
            let guard = build(Otlp::new().endpoint(&endpoint).max_delay(LONG));
            start_spans(guard.pipeline(), ["span"]);
            guard.pipeline().flush(LONG).unwrap();
        });
        assert_eq!(collector.received("spans", number + 1).len(), number + 1);
    }
}

#[test]
fn each_signal_has_a_service() {
    let Some(collector) = Collector::start() else { return };
    let endpoint = format!("http://127.0.0.1:{}", collector.port(Protocol::Grpc));
    let otlp = Otlp::new().endpoint(&endpoint).protocol(tach_otlp::Protocol::Grpc);
    let guard = Pipeline::builder().sink(Sink::otlp(otlp.clone().signals([Signal::Logs])));
    let guard = guard
        .sink(Sink::otlp(otlp.clone().signals([Signal::Traces])))
        .sink(Sink::otlp(otlp.signals([Signal::Metrics])));
    let guard = guard.build().unwrap();
    with_default(tracing_subscriber::registry().with(Pipeline::clone(guard.pipeline())), || {
        tracing::info_span!("span").in_scope(|| tracing::info!("record"));
    });
    guard.pipeline().flush(LONG).unwrap();
    for key in ["logRecords", "spans", "metrics"] {
        assert_eq!(collector.received(key, 1).len(), 1, "{key}");
    }
}
