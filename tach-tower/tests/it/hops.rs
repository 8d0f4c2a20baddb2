//! Many requests over three hops. `TACH_REQUESTS=1000000` asks for more of them.

use core::convert::Infallible;
use core::time::Duration;
use std::env;
use std::sync::{Arc, Mutex};

use http::{HeaderName, Request, Response, StatusCode};
use tach_tower::{Budget, BudgetLayer, Settings, Syntax, current, scope};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceExt, service_fn};

use crate::kit::{PLENTY, cap};

const LIMIT: HeaderName = HeaderName::from_static("x-limit");
const SYNTAXES: [Syntax; 3] = [Syntax::Grpc, Syntax::Millis, Syntax::Seconds];
const RESERVE: Duration = Duration::from_micros(1);
const CONCURRENT: usize = 256;

/// The budgets of a request at the services, and how long the last one works.
#[derive(Debug, Clone, Default)]
struct Visits(Arc<Mutex<Vec<Duration>>>, Duration);

type Hop = BoxCloneSyncService<Request<Visits>, StatusCode, Infallible>;

/// Asks the next service, as another process does: only headers get there.
async fn ask(next: Hop, syntax: Syntax, visits: Visits) -> StatusCode {
    let client = BudgetLayer::client(Settings::new().header(LIMIT, syntax).reserve(RESERVE));
    let client = client.layer(service_fn(move |request: Request<Visits>| {
        let next = next.clone();
        async move {
            let (mut parts, visits) = request.into_parts();
            parts.extensions.clear();
            let status = next.oneshot(Request::from_parts(parts, visits)).await?;
            Ok::<_, Infallible>(Response::builder().status(status).body(String::new()).unwrap())
        }
    }));
    let answer = client.oneshot(Request::new(visits)).await;
    answer.map_or(StatusCode::GATEWAY_TIMEOUT, |response| response.status())
}

fn hop(syntax: Syntax, next: Option<Hop>) -> Hop {
    let handler = service_fn(move |request: Request<Visits>| {
        let next = next.clone();
        async move {
            let budget = current().unwrap();
            let visits = request.into_body();
            visits.0.lock().unwrap().push(budget.total());
            let status = match next {
                Some(next) => ask(next, syntax, visits).await,
                None if visits.1.is_zero() => StatusCode::OK,
                None => {
                    sleep(visits.1).await;
                    StatusCode::OK
                }
            };
            Ok::<_, Infallible>(Response::builder().status(status).body(String::new()).unwrap())
        }
    });
    let server = BudgetLayer::server(cap(PLENTY).header(LIMIT, syntax)).layer(handler);
    BoxCloneSyncService::new(server.map_response(|response| response.status()))
}

/// Sends one request. Returns whether it was answered.
async fn send(front: Hop, syntax: Syntax, total: Duration, works: Duration) -> bool {
    let (root, visits) = (Budget::new(total), Visits(Arc::default(), works));
    let status = scope(root, ask(front, syntax, visits.clone())).await;
    let totals = visits.0.lock().unwrap().clone();
    let mut above = total;
    for &own in &totals {
        assert!(own + RESERVE <= above, "{syntax:?}: {own:?} of {above:?} in {totals:?}");
        above = own;
    }
    if status == StatusCode::OK {
        assert_eq!(totals.len(), 3);
        return true;
    }
    assert_eq!(status, StatusCode::GATEWAY_TIMEOUT);
    // Three clients keep their reserve, and three headers are rounded down.
    let rounded = if syntax == Syntax::Grpc { total / 100_000 } else { Duration::from_millis(1) };
    let kept = 3 * (RESERVE + rounded + Duration::from_nanos(1));
    assert!(root.remaining() <= kept, "{syntax:?}: {:?} of {total:?} left", root.remaining());
    false
}

#[test]
fn no_budget_grows_and_no_answer_is_early() {
    let count = env::var("TACH_REQUESTS");
    let requests: usize = count.map_or(20_000, |count| count.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
    let (answered, exhausted) = runtime.block_on(async {
        let hops = SYNTAXES.map(|syntax| (0..3).fold(None, |next, _| Some(hop(syntax, next))));
        let mut senders = JoinSet::new();
        for sender in 0..CONCURRENT {
            let hops = hops.clone();
            senders.spawn(async move {
                let (mut answered, mut exhausted) = (0, 0);
                for i in (sender..requests).step_by(CONCURRENT) {
                    // Any order of lengths, the same in each run.
                    let random = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                    let at = usize::try_from(random % 3).unwrap();
                    let total = Duration::from_nanos(1 + (random * 7_919) % 30_000_000);
                    let works = if random % 31 == 0 { total } else { Duration::ZERO };
                    let front = hops[at].clone().unwrap();
                    let is_answered = send(front, SYNTAXES[at], total, works).await;
                    answered += usize::from(is_answered);
                    exhausted += usize::from(!is_answered);
                }
                (answered, exhausted)
            });
        }
        let sums = senders.join_all().await;
        sums.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    });
    assert_eq!(answered + exhausted, requests);
    assert!(answered > requests / 8 && exhausted > requests / 64, "{answered} and {exhausted}");
    eprintln!("{answered} answered, {exhausted} exhausted");
}
