//! The costs of spans on their way to a collector, by several ways.
//!
//! A unit is a root span with three attributes, an event with one, and a child span, each entered
//! and closed. A request has 12 spans: the root, a handler within it, and ten queries within that,
//! each with two attributes, and after every other query an event. Each measurement is a process of
//! its own, and so is the server that receives the spans. The table shows the medians of all
//! rounds, and the share of the spans of the flood that arrived.
//!
//! fastrace has a program of its own, since its spans are not tracing's, and its own exporter.
//!
//! ```sh
//! cargo xtask bench spans [ROUNDS [WAY...]]
//! ```

#![expect(clippy::cast_precision_loss, reason = "the figures are far below 2^53")]

use std::borrow::Cow;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use bench_tables::{Report, Table, column};
use fastrace_opentelemetry::OpenTelemetryReporter;
use opentelemetry::InstrumentationScope;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use otel_tests::{decode, serve};
use rustix::time::{ClockId, clock_gettime};
use tach_pipeline::{Durations, FlightRecorder, Otlp, Pipeline, Sampling, Signal, Sink, Tail};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

const WAYS: [&str; 12] = [
    "registry",
    "tach",
    "tach, tail",
    "tach, recorder",
    "tach, unsampled",
    "tach, durations",
    "tach, unsampled, durations",
    "tracing-opentelemetry",
    "leanest",
    "default, unsampled",
    "fastrace",
    "fastrace, unsampled",
];
const WHATS: [&str; 9] = [
    "p50 ns",
    "p99 ns",
    "request p50 ns",
    "request p99 ns",
    "allocations",
    "CPU ns",
    "flooded ns",
    "flooded CPU ns",
    "open B",
];
/// The first argument of a process that measures.
const MEASURE: &str = "measure";
const UNITS: usize = 20_000;
/// Between two units: some thousand spans a second.
const PAUSE: Duration = Duration::from_micros(100);
const FLOOD: usize = 200_000;
const THREADS: usize = 2;
const OPEN: usize = 100_000;
/// The queries of a request.
const QUERIES: usize = 10;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let [MEASURE, way, what, endpoint] = arguments[..] {
        println!("{:.1}", measured(way, what, endpoint));
        return;
    }
    let (rounds, ways): (usize, _) = match &arguments[..] {
        [] => (3, &WAYS[..]),
        [rounds] => (rounds.parse().expect("a number of rounds"), &WAYS[..]),
        [rounds, ways @ ..] => (rounds.parse().expect("a number of rounds"), ways),
    };
    assert!(ways.iter().all(|way| WAYS.contains(way)), "the ways are {WAYS:?}");
    let (endpoint, requests) = serve();
    let arrived = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&arrived);
    thread::spawn(move || {
        for (_, body) in requests {
            let request: ExportTraceServiceRequest = decode(&body);
            let scopes = request.resource_spans.iter().flat_map(|spans| &spans.scope_spans);
            let count: usize = scopes.map(|scope| scope.spans.len()).sum();
            counted.fetch_add(count as u64, Ordering::Relaxed);
        }
    });
    let of_what = |what: &&str| match what.rsplit_once(' ') {
        Some((name, unit)) => column(name, unit, 0),
        None => column(what, "", 0),
    };
    let mut columns: Vec<_> = WHATS.iter().map(of_what).collect();
    columns.push(column("arrived, flooded", "%", 0));
    let mut table = Table::new("spans on their way to a collector", columns);
    for way in ways {
        eprintln!("{way}");
        let mut share = Vec::new();
        let medians = WHATS.map(|what| {
            let before = arrived.load(Ordering::Relaxed);
            let mut all: Vec<f64> =
                (0..rounds).map(|_| in_a_process(way, what, &endpoint)).collect();
            all.sort_by(f64::total_cmp);
            if what == "flooded ns" {
                wait_for_the_last(&arrived);
                let sent = (2 * FLOOD * THREADS * rounds) as f64;
                share.push(100.0 * (arrived.load(Ordering::Relaxed) - before) as f64 / sent);
            }
            vec![all[all.len() / 2]]
        });
        let mut cells = medians.to_vec();
        cells.push(share);
        table.row(way, cells);
    }
    let mut report = Report::new();
    report.table(table);
    report.end();
}

/// Waits until nothing has arrived for a second: the server counts more slowly than it accepts.
fn wait_for_the_last(arrived: &AtomicU64) {
    loop {
        let before = arrived.load(Ordering::Relaxed);
        thread::sleep(Duration::from_secs(1));
        if arrived.load(Ordering::Relaxed) == before {
            return;
        }
    }
}

fn in_a_process(way: &str, what: &str, endpoint: &str) -> f64 {
    let mut command = Command::new(env::current_exe().expect("this program has a path"));
    let output = command.args([MEASURE, way, what, endpoint]).stderr(Stdio::null()).output();
    let output = output.expect("this program runs");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

/// Ends the telemetry of a way.
type End = Box<dyn FnOnce()>;

/// A program as the way has it.
#[derive(Clone, Copy)]
struct Program {
    unit: fn(usize),
    request: fn(usize),
    /// Returns the bytes of an open root span, without its handle.
    open: fn() -> f64,
}

const WITH_TRACING: Program = Program {
    unit,
    request,
    open: || {
        bytes_of_open(
            |number| tracing::info_span!(parent: None, "open", method = "GET", number, path = "/users"),
        )
    },
};

fn install(way: &str, endpoint: &str) -> End {
    match way {
        "tach"
        | "tach, tail"
        | "tach, recorder"
        | "tach, unsampled"
        | "tach, durations"
        | "tach, unsampled, durations" => {
            let otlp = Otlp::new().endpoint(endpoint);
            let builder = Pipeline::builder().sink(Sink::otlp(otlp.signals([Signal::Traces])));
            let builder = match way {
                // No span is slow, and all are kept: the tail's whole work.
                "tach, tail" => builder.tail(Tail::ratio(1.0).slower_than(PAUSE * 10_000)),
                "tach, recorder" => builder.flight_recorder(FlightRecorder::new()),
                "tach, unsampled" => builder.sampling(Sampling::ratio(0.0)),
                "tach, durations" => builder.durations(Durations::new()),
                "tach, unsampled, durations" => {
                    builder.durations(Durations::new()).sampling(Sampling::ratio(0.0))
                }
                _ => builder,
            };
            let pipeline = builder.build().unwrap();
            tracing_subscriber::registry().with(pipeline.clone()).init();
            Box::new(move || pipeline.flush(Duration::from_secs(60)).unwrap())
        }
        "fastrace" | "fastrace, unsampled" => {
            let scope = InstrumentationScope::builder("bench").build();
            let resource = Cow::Owned(Resource::builder().build());
            let reporter = OpenTelemetryReporter::new(exporter(endpoint), resource, scope);
            fastrace::set_reporter(reporter, fastrace::collector::Config::default());
            Box::new(fastrace::flush)
        }
        "registry" => {
            tracing_subscriber::registry().with(tracing_subscriber::layer::Identity::new()).init();
            Box::new(|| {})
        }
        _ => {
            let builder = SdkTracerProvider::builder().with_batch_exporter(exporter(endpoint));
            let builder = match way {
                "default, unsampled" => builder.with_sampler(Sampler::AlwaysOff),
                _ => builder,
            };
            let provider = builder.build();
            let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("bench"));
            let layer = if way == "leanest" {
                layer
                    .with_location(false)
                    .with_threads(false)
                    .with_tracked_inactivity(false)
                    .with_target(false)
                    .with_context_activation(false)
            } else {
                layer
            };
            tracing_subscriber::registry().with(layer).init();
            Box::new(move || {
                let _lost = provider.shutdown();
            })
        }
    }
}

fn exporter(endpoint: &str) -> SpanExporter {
    let builder = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
    builder.with_endpoint(format!("{endpoint}/v1/traces")).build().unwrap()
}

fn unit(number: usize) {
    let root = tracing::info_span!("request", method = "GET", number, path = "/users").entered();
    tracing::info!(bytes = 512, "read");
    let child = tracing::info_span!("query").entered();
    drop(black_box(child));
    drop(black_box(root));
}

fn request(number: usize) {
    let root = tracing::info_span!("request", method = "GET", number, path = "/users").entered();
    let handler = tracing::info_span!("handler", route = "/users", user = 7).entered();
    for query in 0..QUERIES {
        let span = tracing::info_span!("query", table = "users", query).entered();
        drop(black_box(span));
        if query % 2 == 0 {
            tracing::info!(rows = 3, "read");
        }
    }
    drop(black_box(handler));
    drop(black_box(root));
}

/// The same spans by fastrace, whose attributes are texts.
mod with_fastrace {
    use std::hint::black_box;

    use fastrace::prelude::{Event, LocalSpan, Span, SpanContext};

    use super::{Program, QUERIES, bytes_of_open};

    pub(super) const SAMPLED: Program = Program {
        unit: |number| unit(number, true),
        request: |number| request(number, true),
        open: || bytes_of_open(|number| root("open", number, true)),
    };
    pub(super) const UNSAMPLED: Program = Program {
        unit: |number| unit(number, false),
        request: |number| request(number, false),
        open: || bytes_of_open(|number| root("open", number, false)),
    };

    fn root(name: &'static str, number: usize, is_sampled: bool) -> Span {
        let span = Span::root(name, SpanContext::random().sampled(is_sampled));
        span.with_properties(|| {
            [
                ("method", "GET".to_owned()),
                ("number", number.to_string()),
                ("path", "/users".into()),
            ]
        })
    }

    fn unit(number: usize, is_sampled: bool) {
        let root = root("request", number, is_sampled);
        let entered = root.set_local_parent();
        LocalSpan::add_event(Event::new("read").with_property(|| ("bytes", 512.to_string())));
        let child = LocalSpan::enter_with_local_parent("query");
        drop(black_box(child));
        drop(black_box(entered));
        drop(black_box(root));
    }

    fn request(number: usize, is_sampled: bool) {
        let root = root("request", number, is_sampled);
        let entered = root.set_local_parent();
        let handler = LocalSpan::enter_with_local_parent("handler")
            .with_properties(|| [("route", "/users".to_owned()), ("user", 7.to_string())]);
        for query in 0..QUERIES {
            let span = LocalSpan::enter_with_local_parent("query")
                .with_properties(|| [("table", "users".to_owned()), ("query", query.to_string())]);
            drop(black_box(span));
            if query % 2 == 0 {
                let event = Event::new("read").with_property(|| ("rows", 3.to_string()));
                LocalSpan::add_event(event);
            }
        }
        drop(black_box(handler));
        drop(black_box(entered));
        drop(black_box(root));
    }
}

fn measured(way: &str, what: &str, endpoint: &str) -> f64 {
    let end = install(way, endpoint);
    let Program { unit, request, open } = match way {
        "fastrace" => with_fastrace::SAMPLED,
        "fastrace, unsampled" => with_fastrace::UNSAMPLED,
        _ => WITH_TRACING,
    };
    (0..1_000).for_each(unit);
    thread::sleep(Duration::from_millis(100));
    let result = match what {
        "p50 ns" => quantile(unit, 500),
        "p99 ns" => quantile(unit, 990),
        "request p50 ns" => quantile(request, 500),
        "request p99 ns" => quantile(request, 990),
        "allocations" => {
            let counted = allocation_counter::measure(|| (0..UNITS).for_each(unit));
            counted.count_total as f64 / UNITS as f64
        }
        "CPU ns" => {
            let before = cpu_ns();
            let start = Instant::now();
            for number in 0..UNITS {
                unit(number);
                while start.elapsed() < PAUSE * u32::try_from(number).unwrap_or(0) {
                    thread::sleep(PAUSE);
                }
            }
            end();
            return (cpu_ns() - before) / UNITS as f64;
        }
        "open B" => open(),
        _ => {
            let (start, before) = (Instant::now(), cpu_ns());
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(move || (0..FLOOD).for_each(unit));
                }
            });
            let callers = start.elapsed().as_nanos() as f64;
            end();
            let per = (FLOOD * THREADS) as f64;
            return if what == "flooded ns" { callers / per } else { (cpu_ns() - before) / per };
        }
    };
    end();
    result
}

fn bytes_of_open<S>(open: impl Fn(usize) -> S) -> f64 {
    let before = resident();
    let spans: Vec<_> = (0..OPEN)
        .map(|number| {
            if number % 1_000 == 0 {
                thread::sleep(Duration::from_millis(2));
            }
            open(number)
        })
        .collect();
    thread::sleep(Duration::from_millis(200));
    let bytes = (resident() - before) / OPEN as f64 - size_of::<S>() as f64;
    drop(spans);
    bytes
}

fn quantile(program: fn(usize), per_mille: usize) -> f64 {
    let mut all: Vec<_> = (0..UNITS)
        .map(|number| {
            if number % 50 == 0 {
                thread::sleep(50 * PAUSE);
            }
            let start = tach_core::Instant::now();
            program(number);
            start.elapsed().as_nanos()
        })
        .collect();
    all.sort_unstable();
    all[all.len() * per_mille / 1_000] as f64
}

/// Returns the CPU time of all threads, also of those that have ended.
fn cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/statm").expect("Linux has the file");
    status.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).expect("pages") * 4096.0
}
