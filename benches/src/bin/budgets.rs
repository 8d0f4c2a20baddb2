//! Budgets beside the timeouts of tower and tower-http: the cost that a layer adds to a request.
//!
//! `cargo xtask bench budgets [--quick]`: nanoseconds. All layers take turns within a round; the
//! table has the medians of the rounds, and their ratios to tower's `Timeout`. `cargo xtask bench
//! budget-instructions [--quick]`: instructions, by callgrind, which runs this program with
//! `measure`, the name of a layer, a number of calls and a number of polls.

use core::convert::Infallible;
use core::future::Future;
use core::hint::black_box;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::env;
use std::process::Command;
use std::time::Instant;

use bench_tables::{Arguments, Report, Table, column};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use tach_tower::{BudgetLayer, Settings, Syntax};
use tower::timeout::TimeoutLayer;
use tower::{Layer, Service, service_fn};

const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const TOTAL: Duration = Duration::from_secs(30);
/// The waits of a request that its budget ends, and its time.
const NEVER: u32 = u32::MAX;
const SHORT: Duration = Duration::from_millis(1);
/// The first argument of a process that callgrind watches.
const MEASURE: &str = "measure";
const INSTRUCTIONS: &str = "--instructions";
const ROUNDS: usize = 1_001;
const FEW_ROUNDS: usize = 51;
/// So few that their requests stay in the cache.
const CALLS: usize = 256;

/// Ready after `waits` polls that wake the task at once, or never.
struct Answer {
    waits: u32,
}

impl Future for Answer {
    type Output = Result<Response<String>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.waits == 0 {
            return Poll::Ready(Ok(Response::new(String::new())));
        }
        if self.waits == NEVER {
            return Poll::Pending;
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

/// The layers. The last ones read a header as well.
const NAMES: [&str; 8] = [
    "no layer",
    "tower's `Timeout`",
    "tower-http's `TimeoutLayer`",
    "tach `BudgetLayer`, without headers",
    "tach `BudgetLayer`",
    "tach `BudgetLayer`, with the extension",
    "tach `BudgetLayer`, with the header",
    "tach `BudgetLayer`, with both",
];
/// The measure of the others.
const TOWER: usize = 1;
/// How many polls find a request pending, and the name of such requests.
const WAITS: [(u32, &str); 3] =
    [(0, "ready at once"), (1, "pending once"), (10, "pending ten times")];
/// Only instructions are counted of it: the kernel's part is a wait.
const ENDED: (u32, &str) = (NEVER, "ended");

/// Measures one layer, in a task, as servers run their requests.
async fn run(name: &str, waits: u32, calls: usize) -> f64 {
    let at = NAMES.iter().position(|known| *known == name).expect("the name of a layer");
    tokio::spawn(run_layer(at, waits, calls)).await.expect("no layer panics")
}

async fn run_layer(at: usize, waits: u32, calls: usize) -> f64 {
    let bare = service_fn(move |_: Request<()>| Answer { waits });
    let total = if waits == NEVER { SHORT } else { TOTAL };
    let tach = Settings::new().cap(total);
    let with_header = |settings: Settings| settings.header(GRPC_TIMEOUT, Syntax::Grpc);
    match at {
        0 => measure(&mut { bare }, calls).await,
        TOWER => measure(&mut TimeoutLayer::new(total).layer(bare), calls).await,
        2 => {
            let status = StatusCode::GATEWAY_TIMEOUT;
            let layer = tower_http::timeout::TimeoutLayer::with_status_code(status, total);
            measure(&mut layer.layer(bare), calls).await
        }
        at => {
            let settings = match at {
                3 => tach.without_headers(),
                4 => tach,
                5 => tach.extension(),
                6 => with_header(tach),
                _ => with_header(tach).extension(),
            };
            measure(&mut BudgetLayer::server(settings).layer(bare), calls).await
        }
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    if let [MEASURE, name, calls, waits] = words[..] {
        let (calls, waits) = (calls.parse().expect("a count"), waits.parse().expect("a count"));
        run(name, waits, calls).await;
        return;
    }
    let mut report = Report::new();
    if words.first() == Some(&INSTRUCTIONS) {
        // Instructions are the same in each round, so nothing is shortened.
        let _quick = Arguments::of(&arguments[1..], &[]);
        report.table(of_instructions());
    } else {
        let quick = Arguments::read(&[]).quick;
        report.table(of_time(if quick { FEW_ROUNDS } else { ROUNDS }).await);
    }
    report.end();
}

/// Returns the time that each layer adds.
async fn of_time(count: usize) -> Table {
    let columns =
        WAITS.map(|(_, title)| [column(title, "ns", 1), column(&format!("ratio, {title}"), "", 2)]);
    let mut cells = vec![Vec::new(); NAMES.len()];
    for (waits, _) in WAITS {
        let mut rounds = vec![Vec::new(); NAMES.len()];
        for _ in 0..count {
            for (values, name) in rounds.iter_mut().zip(NAMES) {
                values.push(run(name, waits, CALLS).await);
            }
        }
        let medians: Vec<_> = rounds.iter_mut().map(|values| median(values)).collect();
        for (cells, ns) in cells.iter_mut().zip(&medians) {
            let added = ns - medians[0];
            cells.extend([vec![added], vec![added / (medians[TOWER] - medians[0])]]);
        }
    }
    let mut table = Table::new("time that a layer adds", columns.concat());
    for (name, cells) in NAMES.iter().zip(cells).skip(1) {
        table.row(name, cells);
    }
    table
}

/// Returns the instructions that each layer adds. Without a layer, no call is ended: that column is
/// over a call that is ready.
fn of_instructions() -> Table {
    let waits = [WAITS[0], WAITS[1], WAITS[2], ENDED];
    let added = |name: &str, waits: u32| {
        let bare = if waits == NEVER { 0 } else { waits };
        instructions(name, waits) - instructions(NAMES[0], bare)
    };
    let columns = waits.map(|(_, title)| column(title, "", 0));
    let mut table = Table::new("instructions that a layer adds", columns);
    for name in &NAMES[1..] {
        table.row(name, waits.map(|(waits, _)| vec![added(name, waits)]));
    }
    table
}

/// Returns the instructions of a call, with those of its request and response.
fn instructions(name: &str, waits: u32) -> f64 {
    // A call that is ended takes a millisecond or two.
    let calls: [u32; 2] = if waits == NEVER { [50, 550] } else { [1_000, 11_000] };
    let [few, many] = calls.map(|calls| {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        valgrind.arg(env::current_exe().expect("this program has a path"));
        let output =
            valgrind.args([MEASURE, name, &calls.to_string(), &waits.to_string()]).output();
        let report = output.expect("valgrind is installed").stderr;
        let report = String::from_utf8_lossy(&report);
        let count = report.lines().find_map(|line| line.split_once("Collected : "));
        count.and_then(|(_, count)| count.trim().parse::<f64>().ok()).expect("a count")
    });
    (many - few) / f64::from(calls[1] - calls[0])
}
