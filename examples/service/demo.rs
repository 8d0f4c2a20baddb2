//! A client that drives the service, and its findings.
#![expect(clippy::print_stdout, reason = "the summary is the demo's output")]

use core::net::SocketAddr;
use core::time::Duration;
use std::sync::mpsc;

use reqwest::{Client, Method, Request, StatusCode};
use tach_core::MonotonicInstant;
use tach_tower::Stats;
use test_support::otlp::{self, Span};
use test_support::receiver::Requests;
use tokio::task::JoinSet;
use tower::{ServiceBuilder, ServiceExt as _};

use crate::Failure;
use crate::telemetry::Road;

/// The requests of one client: path and budget.
const REQUESTS: [(&str, Option<&str>); 8] = [
    ("/", None),
    ("/work/5", None),
    ("/work/20", Some("0.05")),
    ("/work/200", Some("0.01")),
    ("/work/20", Some("soon")),
    ("/search", None),
    ("/search", Some("0.06")),
    ("/work/500", None),
];
const CLIENTS: usize = 5;

#[derive(Debug, Default)]
pub(crate) struct Summary {
    latencies: Vec<Duration>,
    answered_504: usize,
    exhausted: u64,
    unparsable: u64,
    /// The trace of a request to both instances.
    trace: u128,
}

/// Sends all requests and measures each with tach. Then sends one through both instances.
pub(crate) async fn drive(address: SocketAddr, road: Road) -> Result<Summary, Failure> {
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(async move {
            let client = Client::builder().no_proxy().build()?;
            let mut seen = Vec::new();
            for (path, budget) in REQUESTS {
                let mut request = client.get(format!("http://{address}{path}"));
                if let Some(budget) = budget {
                    request = request.header("request-timeout", budget);
                }
                let start = MonotonicInstant::now();
                let response = request.send().await?;
                let status = response.status();
                response.bytes().await?;
                seen.push((start.elapsed(), status));
            }
            Ok::<_, Failure>(seen)
        });
    }
    let mut summary = Summary::default();
    while let Some(seen) = clients.join_next().await {
        for (latency, status) in seen?? {
            summary.latencies.push(latency);
            summary.answered_504 += usize::from(status == StatusCode::GATEWAY_TIMEOUT);
        }
    }
    summary.latencies.sort_unstable();
    summary.trace = through_both(address, road).await?;
    Ok(summary)
}

/// Asks the first instance, which asks the second one. Returns the id of the trace, which begins
/// here.
async fn through_both(address: SocketAddr, road: Road) -> Result<u128, Failure> {
    let url = format!("http://{address}/relay/work/20").parse()?;
    let (sender, sent) = mpsc::channel();
    let client = ServiceBuilder::new()
        .layer(road.client())
        .map_request(move |request: Request| {
            let _ = sender.send(request.headers().get("traceparent").cloned());
            request
        })
        .service(Client::builder().no_proxy().build()?);
    client.oneshot(Request::new(Method::GET, url)).await?.bytes().await?;
    let header = sent.recv()?.ok_or("the span has no trace")?;
    let trace = header.to_str()?.split('-').nth(1).ok_or("a trace has an id")?;
    Ok(u128::from_str_radix(trace, 16)?)
}

impl Summary {
    pub(crate) fn with_budgets(self, stats: &Stats) -> Self {
        let (exhausted, unparsable) = (stats.exhausted, stats.unparsable_headers);
        Self { exhausted, unparsable, ..self }
    }

    fn percentile(&self, percent: usize) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get(last * percent / 100).copied().unwrap_or_default()
    }
}

/// Prints the summary, with the trace if the demo has received the spans.
pub(crate) fn print(summary: &Summary, received: Option<Requests>) {
    println!("\n{} requests, {} answered 504", summary.latencies.len(), summary.answered_504);
    println!(
        "latency:   p50 {:.1?}, p90 {:.1?}, p99 {:.1?}, max {:.1?}",
        summary.percentile(50),
        summary.percentile(90),
        summary.percentile(99),
        summary.percentile(100),
    );
    println!(
        "budgets:   {} exhausted, {} headers that could not be read and were ignored",
        summary.exhausted, summary.unparsable
    );
    println!("{}", tach_core::status());
    print!("\none trace through both instances: {:032x}", summary.trace);
    let Some(received) = received else { return println!(", at the collector") };
    println!();
    let spans = received.try_iter().flat_map(|(_, body)| otlp::spans(&body));
    let mut spans: Vec<_> = spans.filter(|span| span.trace == summary.trace).collect();
    spans.sort_unstable_by_key(|span| span.start);
    print_within(&spans, 0, 0);
}

/// Prints the children of a span, and theirs.
fn print_within(spans: &[Span], parent: u64, depth: usize) {
    for span in spans.iter().filter(|span| span.parent == parent) {
        let name = format!("{:depth$}{}", "", span.name);
        let kind = ["", "internal", "server", "client"][usize::try_from(span.kind).unwrap_or(0)];
        let port = span.attributes.get("server.port").map_or("", String::as_str);
        let took = Duration::from_nanos(span.end - span.start);
        println!("  {name:<26} {kind:<8} {port:>5} {took:>8.1?}");
        print_within(spans, span.id, depth + 2);
    }
}
