//! Requests and streams over three hops under load, and how long they outlive their budgets.
//!
//! `cargo xtask bench load [--quick]`: 20 s, or 2. Beside them the same runtime sleeps by tokio:
//! how late those sleeps end is the machine's share.

use std::time::Duration;

use bench_tables::{Arguments, Report, Table, column};
use tach_core::MonotonicInstant;
use tach_tower::{Budget, scope};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tower::ServiceExt as _;
use tower_tests::chain::Chain;
use tower_tests::front;
use tower_tests::journal::Journal;

const CLIENTS: u64 = 64;

fn main() {
    let seconds = if Arguments::read(&[]).quick { 2 } else { 20 };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(run(Duration::from_secs(seconds)));
}

async fn run(time: Duration) {
    let journal = Journal::default();
    let (last, last_layer) = Chain::new("last", None, &journal).serve().await;
    let (middle, middle_layer) = Chain::new("middle", Some(last), &journal).serve().await;
    let (address, front_layer) = front::serve(middle, &journal).await;
    let start = MonotonicInstant::now();
    let mut tasks = JoinSet::new();
    for client in 0..CLIENTS {
        tasks.spawn(async move {
            let service = front::client();
            let (mut late, mut late_sleeps, mut answered) = (Vec::new(), Vec::new(), 0_u64);
            for turn in 0_u64.. {
                if start.elapsed() >= time {
                    break;
                }
                let random = (client * 1_000_003 + turn).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                let total = Duration::from_micros(20_000 + random * 13 % 180_000);
                // Half of the requests have the time for their work.
                let works = random * 7 % 2 * 60_000 + 5;
                let kind = if random % 3 == 0 { "stream" } else { "unary" };
                let request = front::request(address, &format!("/{kind}/{works}"));
                let budget = Budget::new(total);
                let call = scope(budget, service.clone().oneshot(request));
                if let Ok(response) = call.await {
                    let status = response.status();
                    let is_whole = response.bytes().await.is_ok();
                    answered += u64::from(is_whole && status.is_success());
                }
                late.push(budget.elapsed().saturating_sub(total));
                let nap = Duration::from_millis(5);
                let napping = MonotonicInstant::now();
                sleep(nap).await;
                late_sleeps.push(napping.elapsed().saturating_sub(nap));
            }
            (late, late_sleeps, answered)
        });
    }
    let (mut late, mut late_sleeps, mut answered) = (Vec::new(), Vec::new(), 0);
    for (one, sleeps, answers) in tasks.join_all().await {
        late.extend(one);
        late_sleeps.extend(sleeps);
        answered += answers;
    }
    sleep(Duration::from_millis(500)).await;
    let visits = journal.visits();
    let outlived = |kind: &str| -> Vec<_> {
        let of = visits.iter().filter(|visit| visit.service == kind);
        of.map(|visit| visit.outlived.expect("the service let go of the request")).collect()
    };
    println!("{} requests, {answered} answered whole", late.len());
    for (name, layer) in [("front", front_layer), ("middle", middle_layer), ("last", last_layer)] {
        println!("{name}: {:?}", layer.stats());
    }
    let columns = ["p50", "p99", "p99.9", "greatest"].map(|name| column(name, "ms", 1));
    let mut table = Table::new("later than the end of the budget", columns);
    table.row("tokio's own sleeps", quantiles(late_sleeps));
    table.row("tach, client", quantiles(late));
    for (service, name) in
        [("front", "tach, first hop"), ("middle", "tach, second"), ("last", "tach, last")]
    {
        table.row(name, quantiles(outlived(service)));
    }
    let mut report = Report::new();
    report.table(table);
    report.end();
}

/// Returns the median and others, in milliseconds.
fn quantiles(mut late: Vec<Duration>) -> Vec<Vec<f64>> {
    late.sort_unstable();
    let last = late.len().saturating_sub(1);
    let at = |per_mille: usize| late.get(last * per_mille / 1_000).map(Duration::as_secs_f64);
    [500, 990, 999, 1_000]
        .map(|at_rank| at(at_rank).map(|seconds| seconds * 1e3).into_iter().collect())
        .into()
}
