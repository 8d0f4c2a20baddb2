//! Budgets beside the timeouts of tower and tower-http: nanoseconds that a layer adds to a request.
//!
//! `cargo run --release -p benches --bin budgets`. All layers take turns within a round; the
//! medians of the rounds are printed, and their ratios to tower's `Timeout`. `--only NAME --count
//! N` runs one of them, for `valgrind --tool=callgrind`.
#![expect(clippy::print_stdout, reason = "the table is the output")]

use core::convert::Infallible;
use core::future::Future;
use core::hint::black_box;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::env;
use std::time::Instant;

use http::{HeaderValue, Request, Response, StatusCode};
use tach_tower::{BudgetLayer, GRPC_TIMEOUT, Syntax};
use tower::timeout::TimeoutLayer;
use tower::{Layer, Service, service_fn};

const TOTAL: Duration = Duration::from_secs(30);
const ROUNDS: usize = 1_001;
/// So few that their requests stay in the cache.
const CALLS: usize = 256;

/// Ready after `waits` polls that wake the task at once.
struct Answer {
    waits: u32,
}

impl Future for Answer {
    type Output = Result<Response<String>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.waits == 0 {
            return Poll::Ready(Ok(Response::new(String::new())));
        }
        self.waits -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A request as a server hands it over: with headers, and with one extension of the server's own.
fn request() -> Request<()> {
    let mut request = Request::new(());
    request.headers_mut().insert("host", HeaderValue::from_static("localhost"));
    request.headers_mut().insert("accept", HeaderValue::from_static("*/*"));
    request.headers_mut().insert(GRPC_TIMEOUT, HeaderValue::from_static("20S"));
    request.extensions_mut().insert(0_u8);
    request
}

/// Returns the nanoseconds of a call, without those of its request and response.
async fn measure<S>(service: &mut S, calls: usize) -> f64
where
    S: Service<Request<()>>,
{
    let mut requests: Vec<_> = (0..calls).map(|_| request()).collect();
    let start = Instant::now();
    for request in requests.drain(..) {
        core::future::poll_fn(|cx| service.poll_ready(cx)).await.ok();
        black_box(service.call(request).await.ok());
    }
    #[expect(clippy::cast_precision_loss, reason = "a few milliseconds")]
    let ns = start.elapsed().as_nanos() as f64 / calls as f64;
    ns
}

const NAMES: [&str; 7] = [
    "bare",
    "tower",
    "tower-http",
    "tach",
    "tach, header",
    "tach, no extension",
    "tach, no extension, header",
];

/// Measures one layer.
async fn run(name: &str, waits: u32, calls: usize) -> f64 {
    let bare = service_fn(move |_: Request<()>| Answer { waits });
    let tach = BudgetLayer::new(TOTAL);
    let with_header = |layer: BudgetLayer| layer.with_header(GRPC_TIMEOUT, Syntax::Grpc);
    match name {
        "bare" => measure(&mut { bare }, calls).await,
        "tower" => measure(&mut TimeoutLayer::new(TOTAL).layer(bare), calls).await,
        "tower-http" => {
            let status = StatusCode::GATEWAY_TIMEOUT;
            let layer = tower_http::timeout::TimeoutLayer::with_status_code(status, TOTAL);
            measure(&mut layer.layer(bare), calls).await
        }
        "tach" => measure(&mut tach.layer(bare), calls).await,
        "tach, header" => measure(&mut with_header(tach).layer(bare), calls).await,
        "tach, no extension" => measure(&mut tach.without_extension().layer(bare), calls).await,
        _ => measure(&mut with_header(tach.without_extension()).layer(bare), calls).await,
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [_, name, _, calls, _, waits] = &arguments[..] {
        let (calls, waits) = (calls.parse().expect("a count"), waits.parse().expect("a count"));
        run(name, waits, calls).await;
        return;
    }
    for (title, waits) in [("ready at once", 0), ("pending once", 1)] {
        let mut rounds = vec![Vec::new(); NAMES.len()];
        for _ in 0..ROUNDS {
            for (values, name) in rounds.iter_mut().zip(NAMES) {
                values.push(run(name, waits, CALLS).await);
            }
        }
        let medians: Vec<_> = rounds.iter_mut().map(|values| median(values)).collect();
        let added: Vec<_> = medians.iter().map(|ns| ns - medians[0]).collect();
        println!("\n{title}: {:.0} ns without a layer", medians[0]);
        for (name, ns) in NAMES.iter().zip(&added).skip(1) {
            println!("{name:28} +{ns:6.1} ns  {:5.2} x tower's", ns / added[1]);
        }
    }
}
