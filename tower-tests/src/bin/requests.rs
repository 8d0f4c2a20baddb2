//! Requests with spans, beside a span by hand and tower-http's layers: instructions of the caller.
//!
//! `cargo run --release --bin requests` checks the limits, by callgrind, which runs this program with
//! the name of a row.

use core::convert::Infallible;
use core::future::{Future, Ready, ready};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::env;
use std::process::{Command, exit};

use http::{Request, Response, StatusCode};
use http_body::Body;
use tach_http::RequestLayer;
use tach_pipeline::{Otlp, Pipeline, Sampling, Signal, Sink};
use tach_tower::{BudgetLayer, Settings};
use tower::{Service, ServiceBuilder, service_fn};
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::{DefaultMakeSpan, TraceLayer};
use tracing::{Level, field::Empty, info_span};

const CALLS: u32 = 2_000;
/// The back end reads what has been recorded after as many calls.
const BATCH: u32 = 200;
const TOTAL: Duration = Duration::from_secs(30);

const NO_LAYER: &str = "no layer";
const BY_HAND: &str = "a span by hand";
const UNSAMPLED: &str = "tach `RequestLayer`, unsampled";
const PEERS: &str = "tower-http's `TraceLayer` and `TimeoutLayer`";
const BOTH: &str = "tach `RequestLayer` and `BudgetLayer`";
/// A row, what it is compared with, and the most that it may take as a multiple of that.
const LIMITS: [(&str, &str, f64); 2] = [(UNSAMPLED, BY_HAND, 1.1), (BOTH, PEERS, 1.5)];

fn answer(_: Request<String>) -> Ready<Result<Response<String>, Infallible>> {
    ready(Ok(Response::new("text".to_owned())))
}

fn request() -> Request<String> {
    let request = Request::get("/users/7").header("host", "example.com").header("accept", "*/*");
    request.header("user-agent", "curl/8").body(String::new()).expect("a request")
}

/// The calls of this function are counted, and all that they call.
#[inline(never)]
fn measured(call: impl FnOnce()) {
    call();
}

fn call<S, B>(mut service: S)
where
    S: Service<Request<String>, Response = Response<B>>,
    B: Body,
{
    let request = request();
    measured(|| {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(service.poll_ready(&mut cx).is_ready());
        let Poll::Ready(Ok(response)) = pin!(service.call(request)).poll(&mut cx) else {
            panic!("the response is ready");
        };
        let mut body = pin!(response.into_body());
        while !body.is_end_stream() && body.as_mut().poll_frame(&mut cx).is_ready() {}
    });
}

/// A span with the fields of the layer's, entered as often.
fn by_hand() {
    let request = request();
    measured(|| {
        let host = request.headers().get("host").and_then(|host| host.to_str().ok());
        let span = info_span!(
            "http.server.request",
            http.response.status_code = Empty,
            otel.kind = "server",
            otel.name = request.method().as_str(),
            http.request.method = request.method().as_str(),
            http.route = None::<&str>,
            url.path = request.uri().path(),
            url.scheme = "http",
            server.address = host,
            server.port = None::<u16>,
            network.protocol.version = "1.1",
            otel.status_code = Empty,
            error.type = Empty,
        );
        for _ in 0..3 {
            let _entered = span.enter();
        }
        span.record("http.response.status_code", 200_i64);
    });
}

fn run(name: &str) {
    match name {
        NO_LAYER => call(service_fn(answer)),
        BY_HAND => by_hand(),
        UNSAMPLED => {
            call(ServiceBuilder::new().layer(RequestLayer::server()).service_fn(answer));
        }
        PEERS => {
            let make_span = DefaultMakeSpan::new().level(Level::INFO);
            let status = StatusCode::GATEWAY_TIMEOUT;
            let layers = ServiceBuilder::new()
                .layer(TraceLayer::new_for_http().make_span_with(make_span))
                .layer(TimeoutLayer::with_status_code(status, TOTAL));
            call(layers.service_fn(answer));
        }
        _ => {
            let layers = ServiceBuilder::new()
                .layer(RequestLayer::server())
                .layer(BudgetLayer::server(Settings::new().head(TOTAL)));
            call(layers.service_fn(answer));
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let Some(name) = env::args().nth(1) else { return check() };
    let is_sampled = [PEERS, BOTH].contains(&&*name);
    // Nobody listens.
    let otlp = Otlp::new().endpoint("http://127.0.0.1:1").signals([Signal::Traces]);
    let guard = Pipeline::builder()
        .sink(Sink::otlp(otlp))
        .sampling(Sampling::ratio(f64::from(u8::from(is_sampled))))
        .init()
        .expect("a pipeline");
    for at in 0..CALLS {
        run(&name);
        if at % BATCH == 0 {
            let _nobody_listens = guard.flush(Duration::from_millis(5));
        }
    }
    exit(0);
}

fn check() {
    let bare = instructions(NO_LAYER);
    let added = |name| instructions(name) - if name == BY_HAND { 0.0 } else { bare };
    let mut is_kept = true;
    for (name, other, most) in LIMITS {
        let [added, others] = [name, other].map(added);
        let ratio = added / others;
        println!("{name}: {added:.0}, {ratio:.2} times {other}: {others:.0} (limit {most})");
        is_kept &= ratio <= most;
    }
    assert!(is_kept, "a layer takes more instructions than its limit");
}

/// Returns the instructions of a call, on the caller's thread.
fn instructions(name: &str) -> f64 {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg("--toggle-collect=requests::measured*");
    let output = valgrind.arg(env::current_exe().expect("this program has a path")).arg(name);
    let report = output.output().expect("valgrind is installed").stderr;
    let report = String::from_utf8_lossy(&report);
    let count = report.lines().find_map(|line| line.split_once("Collected : "));
    let count = count.and_then(|(_, count)| count.trim().parse::<f64>().ok());
    count.expect("a count") / f64::from(CALLS)
}
