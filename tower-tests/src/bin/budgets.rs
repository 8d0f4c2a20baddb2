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
/// Fails if a layer takes more instructions than it may.
const LIMITS: &str = "--limits";
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

/// A request as a server hands it over, with one extension of the server's own.
fn request(has_headers: bool) -> Request<()> {
    let mut request = Request::new(());
    if has_headers {
        request.headers_mut().insert("host", HeaderValue::from_static("localhost"));
        request.headers_mut().insert("accept", HeaderValue::from_static("*/*"));
        request.headers_mut().insert(GRPC_TIMEOUT, HeaderValue::from_static("20S"));
    }
    request.extensions_mut().insert(0_u8);
    request
}

/// Returns the nanoseconds of a call, without those of its request and response.
async fn measure<S>(service: &mut S, calls: usize, has_headers: bool) -> f64
where
    S: Service<Request<()>>,
{
    let mut requests: Vec<_> = (0..calls).map(|_| request(has_headers)).collect();
    let start = Instant::now();
    for request in requests.drain(..) {
        core::future::poll_fn(|cx| service.poll_ready(cx)).await.ok();
        black_box(service.call(request).await.ok());
    }
    #[expect(clippy::cast_precision_loss, reason = "a few milliseconds")]
    let ns = start.elapsed().as_nanos() as f64 / calls as f64;
    ns
}

/// What is measured: a layer, and whether its requests have headers.
struct Row {
    name: &'static str,
    has_headers: bool,
    /// The most instructions for each of [`WAITS`], as a multiple of those of tower's layer.
    most: Option<[f64; 3]>,
}

const fn row(name: &'static str, has_headers: bool, most: Option<[f64; 3]>) -> Row {
    Row { name, has_headers, most }
}

/// The first two are what the others are compared with.
const ROWS: [Row; 7] = [
    row("no layer", true, None),
    row("tower's `Timeout`", true, None),
    row("no layer, and no headers", false, None),
    row("tower-http's `TimeoutLayer`", true, None),
    // The aims are 1.7, 1.5 and 1.0, and 2.2 for the next row's first.
    row("tach `BudgetLayer`, and no headers", false, Some([1.9, 2.05, 1.05])),
    row("tach `BudgetLayer`", true, Some([2.2, 2.15, 1.1])),
    row("tach `BudgetLayer`, with the header", true, None),
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
    let at = ROWS.iter().position(|known| known.name == name).expect("the name of a layer");
    tokio::spawn(run_layer(at, waits, calls)).await.expect("no layer panics")
}

async fn run_layer(at: usize, waits: u32, calls: usize) -> f64 {
    let bare = service_fn(move |_: Request<()>| Answer { waits });
    let total = if waits == NEVER { SHORT } else { TOTAL };
    let (tach, has_headers) = (Settings::new().cap(total), ROWS[at].has_headers);
    match at {
        0 | 2 => measure(&mut { bare }, calls, has_headers).await,
        TOWER => measure(&mut TimeoutLayer::new(total).layer(bare), calls, has_headers).await,
        3 => {
            let status = StatusCode::GATEWAY_TIMEOUT;
            let layer = tower_http::timeout::TimeoutLayer::with_status_code(status, total);
            measure(&mut layer.layer(bare), calls, has_headers).await
        }
        at => {
            let is_read = at == ROWS.len() - 1;
            let settings = if is_read { tach.header(GRPC_TIMEOUT, Syntax::Grpc) } else { tach };
            measure(&mut BudgetLayer::server(settings).layer(bare), calls, has_headers).await
        }
    }
}

/// Returns the row whose requests are the same, without a layer.
fn base(row: &Row) -> usize {
    if row.has_headers { 0 } else { 2 }
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
    match words.first() {
        Some(&LIMITS) => return check(),
        Some(&INSTRUCTIONS) => {
            // Instructions are the same in each round, so nothing is shortened.
            let _quick = Arguments::of(&arguments[1..], &[]);
            report.table(of_instructions());
        }
        _ => {
            let quick = Arguments::read(&[]).quick;
            report.table(of_time(if quick { FEW_ROUNDS } else { ROUNDS }).await);
        }
    }
    report.end();
}

/// Checks the limits of the instructions.
fn check() {
    let mut is_kept = true;
    for row in &ROWS {
        for ((waits, title), most) in WAITS.into_iter().zip(row.most.into_iter().flatten()) {
            let ratio = added(row, waits) / added(&ROWS[TOWER], waits);
            println!("{}, {title}: {ratio:.2} times tower's (limit {most})", row.name);
            is_kept &= ratio <= most;
        }
    }
    assert!(is_kept, "a layer takes more instructions than its limit");
}

/// Returns the time that each layer adds.
async fn of_time(count: usize) -> Table {
    let columns =
        WAITS.map(|(_, title)| [column(title, "ns", 1), column(&format!("ratio, {title}"), "", 2)]);
    let mut cells = vec![Vec::new(); ROWS.len()];
    for (waits, _) in WAITS {
        let mut rounds = vec![Vec::new(); ROWS.len()];
        for _ in 0..count {
            for (values, row) in rounds.iter_mut().zip(&ROWS) {
                values.push(run(row.name, waits, CALLS).await);
            }
        }
        let medians: Vec<_> = rounds.iter_mut().map(|values| median(values)).collect();
        for ((cells, ns), row) in cells.iter_mut().zip(&medians).zip(&ROWS) {
            let added = ns - medians[base(row)];
            cells.extend([vec![added], vec![added / (medians[TOWER] - medians[0])]]);
        }
    }
    let mut table = Table::new("time that a layer adds", columns.concat());
    for (row, cells) in ROWS.iter().zip(cells).filter(|(row, _)| is_layer(row)) {
        table.row(row.name, cells);
    }
    table
}

fn is_layer(row: &Row) -> bool {
    !row.name.starts_with("no layer")
}

/// Returns the instructions that a layer adds. Without a layer, no call is ended: those are over a
/// call that is ready.
fn added(row: &Row, waits: u32) -> f64 {
    let bare = if waits == NEVER { 0 } else { waits };
    instructions(row.name, waits) - instructions(ROWS[base(row)].name, bare)
}

fn of_instructions() -> Table {
    let waits = [WAITS[0], WAITS[1], WAITS[2], ENDED];
    let columns = waits.map(|(_, title)| column(title, "", 0));
    let mut table = Table::new("instructions that a layer adds", columns);
    for row in ROWS.iter().filter(|row| is_layer(row)) {
        table.row(row.name, waits.map(|(waits, _)| vec![added(row, waits)]));
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
