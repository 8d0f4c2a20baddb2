//! Each request is counted once, at the layer whose limit ended it.

use core::convert::Infallible;
use core::future::{pending, ready};
use core::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use tach_tower::{Budget, BudgetLayer, Settings, Stats, scope};
use tower::{Layer, ServiceExt, service_fn};

use crate::kit::{PLENTY, SECOND, cap, never, request, server, silent};

/// Returns the outcomes: answered, exhausted, refused, abandoned, ended bodies.
fn outcomes(stats: &Stats) -> [u64; 5] {
    [stats.answered, stats.exhausted, stats.refused, stats.abandoned, stats.ended_bodies]
}

#[tokio::test(start_paused = true)]
async fn each_request_has_one_outcome() {
    let layer = server(SECOND);
    let whole =
        service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new("whole".to_owned()))));
    let response = layer.layer(whole).oneshot(request()).await.unwrap();
    assert_eq!(outcomes(&layer.stats()), [0; 5], "its body is yet to be read");
    response.into_body().collect().await.unwrap();
    assert_eq!(outcomes(&layer.stats()), [1, 0, 0, 0, 0]);
    layer.layer(never()).oneshot(request()).await.unwrap();
    let mut late = request();
    late.extensions_mut().insert(Budget::new(Duration::ZERO));
    layer.layer(never()).oneshot(late).await.unwrap();
    drop(tower::Service::call(&mut layer.layer(never()), request()));
    let response = layer.layer(silent()).oneshot(request()).await.unwrap();
    assert!(response.into_body().collect().await.is_err());
    assert_eq!(outcomes(&layer.stats()), [1; 5]);
    // A reader that hangs up, and a handler that fails.
    drop(layer.layer(silent()).oneshot(request()).await.unwrap());
    let failing = service_fn(|_: Request<()>| ready(Err::<Response<String>, _>("reset")));
    layer.layer(failing).oneshot(request()).await.unwrap_err();
    assert_eq!(outcomes(&layer.stats()), [3, 1, 1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn nested_layers_count_at_the_one_whose_limit_it_was() {
    for (outer_time, inner_time) in [(SECOND, PLENTY), (PLENTY, SECOND)] {
        let (outer, inner) = (server(outer_time), server(inner_time));
        let service = outer.layer(inner.layer(never()));
        let response = service.oneshot(request()).await.unwrap();
        assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
        let expected = if outer_time < inner_time {
            [[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]]
        } else {
            drop(response);
            [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]]
        };
        assert_eq!([outcomes(&outer.stats()), outcomes(&inner.stats())], expected);
    }
}

/// A client's call without a limit ends with the server's request, which has the limit.
#[tokio::test(start_paused = true)]
async fn a_call_without_a_limit_of_its_own_ends_with_its_request() {
    for (settings, counted) in
        [(Settings::new(), [0, 0, 0, 1, 0]), (Settings::new().reserve(SECOND / 2), [0, 1, 0, 0, 0])]
    {
        let client = BudgetLayer::client(settings);
        let calls = client.layer(never());
        let handler = service_fn(move |_: Request<()>| {
            let calls = calls.clone();
            async move {
                let failed = calls.oneshot(request()).await.is_err();
                Ok::<_, Infallible>(Response::new(format!("{failed}")))
            }
        });
        let layer = server(2 * SECOND);
        let status = layer.layer(handler).oneshot(request()).await.unwrap().status();
        let ended_by_client = counted[1] == 1;
        assert_eq!(status == StatusCode::OK, ended_by_client);
        assert_eq!(outcomes(&client.stats()), counted);
    }
}

/// The request that gave the budget no longer polls the call.
#[tokio::test(start_paused = true)]
async fn a_call_in_another_task_ends_by_itself() {
    let client = BudgetLayer::client(Settings::new());
    let calls = client.layer(never());
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let sender = std::sync::Arc::new(std::sync::Mutex::new(Some(sender)));
    let handler = service_fn(move |_: Request<()>| {
        let call = tower::Service::call(&mut calls.clone(), request());
        let task = tokio::spawn(call);
        sender.lock().unwrap().take().unwrap().send(task).unwrap();
        pending::<Result<Response<String>, Infallible>>()
    });
    server(SECOND).layer(handler).oneshot(request()).await.unwrap();
    let ended = tokio::time::timeout(PLENTY, receiver.await.unwrap()).await;
    assert!(ended.unwrap().unwrap().is_err());
    assert_eq!(client.stats().exhausted, 1);
    // A budget that `scope` sets ends nothing.
    let call = scope(Budget::new(SECOND), client.layer(never()).oneshot(request()));
    call.await.unwrap_err();
    assert_eq!(client.stats().exhausted, 2);
}

#[tokio::test(start_paused = true)]
async fn a_nested_body_is_cut_by_the_one_whose_limit_it_was() {
    let (outer, inner) = (server(SECOND), BudgetLayer::server(cap(PLENTY)));
    let response = outer.layer(inner.layer(silent())).oneshot(request()).await.unwrap();
    assert!(response.into_body().collect().await.is_err());
    let counts = [outcomes(&outer.stats()), outcomes(&inner.stats())];
    assert_eq!(counts, [[0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]);
}
