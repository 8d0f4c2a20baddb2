//! What a request of twelve spans costs its thread, with and without the layer of
//! `tracing-opentelemetry` at its boundaries.
//!
//! The request is a server's span with a parent in another process, two spans of a client whose
//! headers are asked for, and nine inner spans with an event each. Nothing is sent. The table shows
//! the medians of the requests.
//!
//! ```sh
//! cargo run --release --manifest-path otel-tests/Cargo.toml --bin request_costs
//! ```
//!
//! With the name of a way and a number of requests it runs these alone, for a tool that counts
//! instructions.

use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, thread};

use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use otel_tests::serve;
use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink};
use tracing::Span;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

const WAYS: [&str; 4] = ["pipeline", "bridge", "tracing-opentelemetry", "leanest"];
const REQUESTS: usize = 5_000;
/// Between two requests.
const PAUSE: Duration = Duration::from_micros(300);
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The methods of the trait, from the crate of the way.
struct Methods {
    set_parent: fn(&Span, Context),
    context: fn(&Span) -> Context,
}

const OWN: Methods = Methods {
    set_parent: |span, parent| {
        tach_pipeline::OpenTelemetrySpanExt::set_parent(span, parent).expect("it has no parent");
    },
    context: tach_pipeline::OpenTelemetrySpanExt::context,
};

const OTHER: Methods = Methods {
    set_parent: |span, parent| {
        tracing_opentelemetry::OpenTelemetrySpanExt::set_parent(span, parent)
            .expect("it has no parent");
    },
    context: tracing_opentelemetry::OpenTelemetrySpanExt::context,
};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [way, count] => {
            let (methods, _guard) = install(way);
            (0..count.parse().expect("a number")).for_each(|_| request(&methods));
        }
        [way] => measure(way),
        _ => {
            println!("{:24}{:>14}{:>14}", "", "ns", "allocations");
            for way in WAYS {
                let program = env::current_exe().expect("this program has a path");
                Command::new(program).arg(way).status().expect("this program runs");
            }
        }
    }
}

fn measure(way: &str) {
    let (methods, _guard) = install(way);
    (0..REQUESTS / 10).for_each(|_| request(&methods));
    let median = |mut all: Vec<u64>| {
        all.sort_unstable();
        all[all.len() / 2]
    };
    let times = (0..REQUESTS).map(|_| {
        thread::sleep(PAUSE);
        let start = Instant::now();
        request(&methods);
        u64::try_from(start.elapsed().as_nanos()).expect("it is short")
    });
    let times = median(times.collect());
    let allocations =
        (0..REQUESTS / 10).map(|_| allocation_counter::measure(|| request(&methods)).count_total);
    println!("{way:24}{times:>14}{:>14}", median(allocations.collect()));
}

#[derive(Debug)]
struct Nowhere;

impl SpanExporter for Nowhere {
    async fn export(&self, _batch: Vec<SpanData>) -> OTelSdkResult {
        Ok(())
    }
}

fn install(way: &str) -> (Methods, Option<Guard>) {
    let registry = tracing_subscriber::registry();
    if matches!(way, "tracing-opentelemetry" | "leanest") {
        let provider = SdkTracerProvider::builder().with_batch_exporter(Nowhere).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("requests"));
        if way == "leanest" {
            let layer = layer.with_location(false).with_threads(false).with_target(false);
            registry.with(layer.with_tracked_inactivity(false)).init();
        } else {
            registry.with(layer).init();
        }
        return (OTHER, None);
    }
    let (endpoint, requests) = serve();
    thread::spawn(|| requests.into_iter().for_each(drop));
    let builder = Pipeline::builder()
        .sink(Sink::otlp(Otlp::new().endpoint(&endpoint).signals([Signal::Traces])));
    let guard = builder.build().expect("the pipeline starts");
    if way != "bridge" {
        registry.with(guard.pipeline().clone()).init();
        return (OWN, Some(guard));
    }
    let layer = tracing_opentelemetry::layer()
        .with_tracer(guard.pipeline().tracer_provider().tracer("tracing-opentelemetry"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_filter(filter_fn(|metadata| {
            metadata.is_span() && metadata.fields().field("otel.kind").is_some()
        }));
    registry.with(guard.pipeline().clone()).with(layer).init();
    (OTHER, Some(guard))
}

fn request(methods: &Methods) {
    let propagator = TraceContextPropagator::new();
    let headers = HashMap::from([("traceparent".to_owned(), TRACEPARENT.to_owned())]);
    let server = tracing::info_span!(
        "GET /users/{id}",
        otel.kind = "server",
        http.request.method = "GET",
        url.path = "/users/7",
        http.response.status_code = tracing::field::Empty,
    );
    (methods.set_parent)(&server, propagator.extract(&headers));
    server.in_scope(|| {
        (0..9).for_each(inner);
        for table in ["users", "orders"] {
            let client =
                tracing::info_span!("query", otel.kind = "client", db.collection.name = table);
            let mut headers = HashMap::new();
            propagator.inject_context(&(methods.context)(&client), &mut headers);
            client.in_scope(|| std::hint::black_box(headers));
        }
    });
    server.record("http.response.status_code", 200);
}

fn inner(number: usize) {
    let _entered = tracing::info_span!("step", number, kind = "parse").entered();
    tracing::info!(bytes = 512, "read");
}
