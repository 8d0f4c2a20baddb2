//! Budgets over three hops: reqwest to axum to tonic to tonic.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::BodyExt as _;
use reqwest::StatusCode;
use tach_core::MonotonicInstant;
use tach_tower::{Budget, BudgetLayer, Exhausted, ServerSide, Settings, scope};
use tokio::time::sleep;
use tonic::Code;
use tower::{Layer, ServiceExt as _};
use tower_tests::chain::{Chain, Client, RESERVE, Work};
use tower_tests::front;
use tower_tests::journal::{Journal, Visit};

const SECOND: Duration = Duration::from_secs(1);

/// The services, from the front to the back, with their counts.
struct Services {
    addresses: [SocketAddr; 3],
    layers: [BudgetLayer<ServerSide>; 3],
    journal: Journal,
}

async fn services() -> Services {
    let journal = Journal::default();
    let (last, last_layer) = Chain::new("last", None, &journal).serve().await;
    let (middle, middle_layer) = Chain::new("middle", Some(last), &journal).serve().await;
    let (front, front_layer) = front::serve(middle, &journal).await;
    Services {
        addresses: [front, middle, last],
        layers: [front_layer, middle_layer, last_layer],
        journal,
    }
}

impl Services {
    /// Waits until every service has let go of its requests.
    async fn settled(&self) -> Vec<Visit> {
        loop {
            let visits = self.journal.visits();
            if visits.iter().all(|visit| visit.outlived.is_some()) {
                return visits;
            }
            sleep(Duration::from_millis(5)).await;
        }
    }
}

fn assert_shrinking(visits: &[Visit], total: Duration) {
    assert_eq!(
        visits.iter().map(|visit| visit.service).collect::<Vec<_>>(),
        ["front", "middle", "last"]
    );
    let mut above = total;
    for visit in visits {
        let own = visit.budget.unwrap().total();
        assert!(own + RESERVE <= above, "{} got {own:?} of {above:?}", visit.service);
        above = own;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_hop_takes_its_reserve() {
    let services = services().await;
    let call = front::client().oneshot(front::request(services.addresses[0], "/unary/1"));
    let response = scope(Budget::new(SECOND), call).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.text().await.unwrap(), "worked for 1 ms\n");
    let visits = services.settled().await;
    assert_shrinking(&visits, SECOND);
    assert!(visits.iter().all(|visit| visit.is_done));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_budget_ends_all_hops() {
    let services = services().await;
    let total = Duration::from_millis(200);
    let start = MonotonicInstant::now();
    let call = front::client().oneshot(front::request(services.addresses[0], "/unary/60000"));
    let result = scope(Budget::new(total), call).await;
    let took = start.elapsed();
    // The hops end scope moments of each other: which answer comes first depends on the machine.
    match result {
        Ok(response) => {
            let status = response.status();
            assert!(
                matches!(status, StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT),
                "{status}"
            );
            // Its body may come too late.
            let text = response.text().await.unwrap_or_default();
            assert!(["", "DeadlineExceeded"].contains(&&*text), "{text}");
        }
        Err(error) => assert!(error.is::<Exhausted>()),
    }
    // The last service's budget is the shortest, and nobody ends before it.
    let visits = services.settled().await;
    assert_shrinking(&visits, total);
    assert!(took >= visits[2].budget.unwrap().total(), "{took:?}");
    assert!(visits.iter().all(|visit| !visit.is_done));
    let last = services.layers[2].stats();
    assert_eq!(last.exhausted + last.abandoned, 1, "the service or its caller was first");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_tonic_sees_deadline_exceeded() {
    let services = services().await;
    let client = Client::new(services.addresses[2]);
    // The service or the client is first.
    let work = Work { millis: 60_000 };
    let call = scope(Budget::new(Duration::from_millis(100)), client.clone().unary(work));
    assert_eq!(call.await.unwrap_err().code(), Code::DeadlineExceeded);
    services.settled().await;
    // The client has no time to call.
    let call = scope(Budget::new(RESERVE), client.unary(Work { millis: 0 }));
    assert_eq!(call.await.unwrap_err().code(), Code::DeadlineExceeded);
    assert_eq!(services.journal.visits().len(), 1);
    // The service alone limits the request.
    let status = Client::new(services.addresses[2]).unary(work).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_on_all_hops() {
    let mut total = Duration::from_millis(200);
    let (services, start, response) = loop {
        let services = services().await;
        let call = front::client().oneshot(front::request(services.addresses[0], "/stream/60000"));
        let start = MonotonicInstant::now();
        match scope(Budget::new(total), call).await {
            Ok(response) if response.status() == StatusCode::OK => {
                break (services, start, response);
            }
            // On a busy machine the budget may end before the response begins.
            _ => total *= 2,
        }
    };
    let mut response = response;
    let mut chunks = 0;
    while let Ok(Some(_)) = response.chunk().await {
        chunks += 1;
    }
    let took = start.elapsed();
    assert!(chunks > 0);
    let visits = services.settled().await;
    assert_shrinking(&visits, total);
    assert!(took >= visits[2].budget.unwrap().total(), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_tonic_ends_with_its_status() {
    let services = services().await;
    let client = Client::new(services.addresses[1]);
    let start = MonotonicInstant::now();
    let call = client.stream(Work { millis: 60_000 });
    let mut stream = scope(Budget::new(SECOND), call).await.unwrap();
    let status = loop {
        match stream.message().await {
            Ok(message) => assert!(message.is_some(), "the stream ended without a status"),
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let visits = services.settled().await;
    assert!(start.elapsed() >= visits[1].budget.unwrap().total());
}

/// The client hangs up long before the budget ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_is_seen_on_all_hops() {
    for path in ["/unary/60000", "/stream/60000"] {
        let services = services().await;
        let mut client = front::client();
        let call = client.ready().await.unwrap();
        let call = tower::Service::call(call, front::request(services.addresses[0], path));
        let call = tokio::spawn(scope(Budget::new(60 * SECOND), call));
        while services.journal.visits().len() < 3 {
            sleep(Duration::from_millis(5)).await;
        }
        call.abort();
        // A stream's response has begun: dropping it hangs up.
        drop(call.await);
        drop(client);
        let visits = services.settled().await;
        assert!(visits.iter().all(|visit| visit.outlived == Some(Duration::ZERO)), "{visits:?}");
        assert!(visits.iter().all(|visit| !visit.is_done));
        let exhausted: u64 = services.layers.iter().map(|layer| layer.stats().exhausted).sum();
        assert_eq!(exhausted, 0);
        if path.starts_with("/unary") {
            assert!(services.layers.iter().all(|layer| layer.stats().abandoned == 1));
        }
    }
}

/// hyper's own client, whose bodies have no default.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_hyper_can_be_wrapped() {
    use hyper_util::client::legacy::Client as HyperClient;
    use hyper_util::rt::TokioExecutor;

    let services = services().await;
    let hyper = HyperClient::builder(TokioExecutor::new())
        .build_http::<http_body_util::Empty<bytes::Bytes>>();
    let client = BudgetLayer::client(Settings::new().reserve(RESERVE)).layer(hyper);
    let get = |path: &str| {
        let uri = format!("http://{}{path}", services.addresses[0]);
        http::Request::get(uri).body(http_body_util::Empty::new()).unwrap()
    };
    let call = scope(Budget::new(SECOND), client.clone().oneshot(get("/unary/1")));
    let body = call.await.unwrap().into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "worked for 1 ms\n");
    let call = scope(Budget::new(Duration::from_millis(100)), client.oneshot(get("/stream/60000")));
    // Either the front's end of the stream or the client's own cuts the body.
    assert!(call.await.unwrap().into_body().collect().await.is_err());
    services.settled().await;
}
