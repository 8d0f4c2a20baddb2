//! The same costs in instructions, by callgrind: other load on the machine does not change them.

use std::env;
use std::process::{Command, Stdio};
use std::time::Duration;

use bench_tables::{Arguments, Table, column};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use otel_tests::{decode, serve};
use prost::Message as _;

use crate::in_bursts;
use crate::programs::{Program, program};
use crate::ways::{ENDPOINT, WAYS, install};

/// The first arguments of processes that callgrind runs.
pub(crate) const COUNT: &str = "count";
pub(crate) const COUNT_ALL: &str = "count-all";
pub(crate) const ENCODE: &str = "encode";

const WHATS: [&str; 4] = ["a span", "a child", "unit", "request"];
/// A unit on all threads, up to the collector.
const ALL_THREADS: &str = "unit, all threads";
/// How often a program runs before it is counted: tables are created, and callsites registered.
const BEFORE: usize = 1_000;
const TIMES: usize = 2_000;
/// How often a unit runs for the instructions of all threads. Fewer would not fill the buffers.
const FEWER: usize = 5_000;
const MORE: usize = 20_000;
/// What callgrind counts, by the names of functions.
const CALLER: &str = "*::instructions::counted";
const ENCODERS: [(&str, &str); 2] = [
    ("tach: from the record to protobuf", "*::otlp::write_span"),
    ("prost: from the finished message", "*::instructions::encode_by_prost"),
];

/// Returns the instructions of a caller by each way, and of the encoders.
pub(crate) fn tables(wanted: &Arguments) -> [Table; 2] {
    let (endpoint, _requests) = serve();
    let columns = WHATS.into_iter().chain([ALL_THREADS]).map(|what| column(what, "", 0));
    let mut callers = Table::new("instructions of a caller", columns.collect::<Vec<_>>());
    for way in WAYS.iter().filter(|way| wanted.wants(way)) {
        eprintln!("{way}");
        let count = |what| {
            under_callgrind(Some(CALLER), &[COUNT, way, what, &endpoint]).instructions
                / TIMES as f64
        };
        let mut cells = WHATS.map(|what| vec![count(what)]).to_vec();
        // What a process does once, such as growing its buffers, is in both.
        let [fewer, more] = [FEWER, MORE].map(|times| {
            let times = times.to_string();
            under_callgrind(None, &[COUNT_ALL, way, &times, &endpoint]).instructions
        });
        cells.push(vec![(more - fewer) / (MORE - FEWER) as f64]);
        callers.row(way, cells);
    }
    let columns = [column("instructions a span", "", 0), column("bytes a span", "", 0)];
    let mut encoders = Table::new("encoding of spans", columns);
    for (name, function) in ENCODERS {
        eprintln!("{name}");
        let Counted { instructions, printed } = under_callgrind(Some(function), &[ENCODE]);
        let [spans, bytes] = printed[..] else { panic!("two figures") };
        encoders.row(name, [vec![instructions / spans], vec![bytes / spans]]);
    }
    [callers, encoders]
}

struct Counted {
    instructions: f64,
    /// The figures that the process printed.
    printed: Vec<f64>,
}

/// Runs this program, and counts the instructions within the functions of a pattern, or all.
fn under_callgrind(functions: Option<&str>, arguments: &[&str]) -> Counted {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.args(functions.map(|functions| format!("--toggle-collect={functions}")));
    valgrind.arg(env::current_exe().expect("this program has a path")).args(arguments);
    if let Some(endpoint) = arguments.last() {
        valgrind.env(ENDPOINT, endpoint);
    }
    let output = valgrind.stdin(Stdio::null()).output().expect("valgrind is installed");
    let report = String::from_utf8_lossy(&output.stderr);
    let count = report.lines().find_map(|line| line.split_once("Collected : "));
    let count = count.and_then(|(_, count)| count.trim().parse::<f64>().ok()).expect("a count");
    assert!(count > 0.0, "no function is called {functions:?}");
    let printed = String::from_utf8_lossy(&output.stdout);
    let printed = printed.split_whitespace().map(|figure| figure.parse().expect("a figure"));
    Counted { instructions: count, printed: printed.collect() }
}

/// Runs a program some times, of which callgrind counts the last.
pub(crate) fn count(way: &str, what: &str, endpoint: &str) {
    assert!(WAYS.contains(&way), "the ways are {WAYS:?}");
    let Program { plain, child, enter, unit, request, .. } = program(way);
    let end = install(way, endpoint);
    let _entered = (what == "a child").then(enter);
    let program = match what {
        "a span" => plain,
        "a child" => child,
        "unit" => unit,
        _ => request,
    };
    (0..BEFORE).for_each(program);
    // The back end of a way must not find its queue full.
    std::thread::sleep(Duration::from_millis(500));
    counted(program);
    end();
}

#[inline(never)]
fn counted(program: fn(usize)) {
    (0..TIMES).for_each(program);
}

/// Runs a unit so many times in bursts, and sends everything.
pub(crate) fn count_all(way: &str, times: &str, endpoint: &str) {
    let times = times.parse().expect("a number of units");
    let end = install(way, endpoint);
    in_bursts(times, program(way).unit);
    end();
}

/// Sends units to a receiver of this process, and encodes what arrives once more. Prints the number
/// of the spans and of the bytes.
pub(crate) fn encode() {
    let (endpoint, received) = serve();
    let way = "tach, spans alone";
    let end = install(way, &endpoint);
    (0..TIMES).for_each(program(way).unit);
    end();
    let bodies: Vec<_> = received.try_iter().map(|(_, body)| body).collect();
    let messages: Vec<ExportTraceServiceRequest> = bodies.iter().map(|body| decode(body)).collect();
    let scopes = messages.iter().flat_map(|message| &message.resource_spans);
    let scopes = scopes.flat_map(|spans| &spans.scope_spans);
    let spans: usize = scopes.map(|scope| scope.spans.len()).sum();
    assert_eq!(spans, 2 * TIMES, "every span has arrived");
    println!("{spans} {}", messages.iter().map(encode_by_prost).sum::<usize>());
}

/// Returns the number of bytes.
#[inline(never)]
fn encode_by_prost(message: &ExportTraceServiceRequest) -> usize {
    message.encode_to_vec().len()
}
