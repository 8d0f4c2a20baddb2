//! A client that drives the service, and its findings.
#![expect(clippy::print_stdout, reason = "the summary is the demo's output")]

use core::net::SocketAddr;
use core::time::Duration;

use reqwest::{Client, StatusCode};
use tach_core::MonotonicInstant;
use tach_tower::Stats;
use tokio::task::JoinSet;

use crate::Failure;

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
}

/// Sends all requests and measures each with tach.
pub(crate) async fn drive(address: SocketAddr) -> Result<Summary, Failure> {
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
    Ok(summary)
}

impl Summary {
    pub(crate) fn with_budgets(self, stats: &Stats) -> Self {
        let (exhausted, unparsable) = (stats.exhausted(), stats.unparsable_headers());
        Self { exhausted, unparsable, ..self }
    }

    fn percentile(&self, percent: usize) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get(last * percent / 100).copied().unwrap_or_default()
    }
}

pub(crate) fn print(summary: &Summary) {
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
}
