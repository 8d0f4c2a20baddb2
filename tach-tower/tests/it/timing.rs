//! The header `Server-Timing`.

use core::convert::Infallible;
use core::time::Duration;

use http::{HeaderValue, Request, Response};
use tach_core::ManualClock;
use tach_tower::{BudgetLayer, Stages};
use tower::{Layer, ServiceExt, service_fn};

use crate::kit::{never, request};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_response_lists_its_stages() {
    let clock: &ManualClock = Box::leak(Box::default());
    let layer = BudgetLayer::new(60 * SECOND).with_clock(clock).with_server_timing();
    let inner = service_fn(|request: Request<()>| async move {
        let stage = Stages::current().unwrap().start("db");
        tokio::task::yield_now().await;
        clock.advance(SECOND);
        drop(stage);
        let stages = request.extensions().get::<Stages>().unwrap();
        stages.record("queue", Duration::from_micros(1_250));
        let mut response = Response::new(String::new());
        response.headers_mut().insert("server-timing", HeaderValue::from_static("edge;dur=1"));
        Ok::<_, Infallible>(response)
    });
    let response = layer.layer(inner).oneshot(request()).await.unwrap();
    let values: Vec<_> = response.headers().get_all("server-timing").iter().collect();
    assert_eq!(values, ["edge;dur=1", "db;dur=1000.000, queue;dur=1.250, total;dur=1000.000"]);
    assert!(Stages::current().is_none());
}

/// A middleware starts its stage before there is a future.
#[tokio::test]
async fn the_call_itself_has_stages() {
    let inner = service_fn(|_: Request<()>| {
        let stage = Stages::current().unwrap().start("call");
        async move {
            drop(stage);
            Ok::<_, Infallible>(Response::new(String::new()))
        }
    });
    let layer = BudgetLayer::new(SECOND).with_server_timing();
    let response = layer.layer(inner).oneshot(request()).await.unwrap();
    let value = response.headers()["server-timing"].to_str().unwrap();
    assert!(value.starts_with("call;dur="), "{value}");
    assert!(Stages::current().is_none());
}

#[tokio::test]
async fn an_exhausted_request_lists_them_too() {
    let layer = BudgetLayer::new(Duration::ZERO).with_server_timing();
    let response = layer.layer(never()).oneshot(request()).await.unwrap();
    let value = response.headers()["server-timing"].to_str().unwrap();
    assert!(value.starts_with("total;dur="), "{value}");
}

#[tokio::test]
async fn by_default_nothing_is_listed() {
    let inner = service_fn(|request: Request<()>| async move {
        assert!(Stages::current().is_none());
        assert!(request.extensions().get::<Stages>().is_none());
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let response = BudgetLayer::new(SECOND).layer(inner).oneshot(request()).await.unwrap();
    assert!(response.headers().is_empty());
}
