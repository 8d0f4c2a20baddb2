//! Bodies when a service stops.

use core::convert::Infallible;
use core::future::ready;
use core::task::Poll;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use tach_tower::{BudgetLayer, Exhausted, Settings};
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, ServiceExt, service_fn};

use crate::frames::{dot, dots, frames};
use crate::kit::{PLENTY, SECOND, assert_took, cap, grpc_request, request, silent};

fn layer() -> BudgetLayer<tach_tower::ServerSide> {
    BudgetLayer::server(Settings::new().head(SECOND).idle(PLENTY))
}

#[tokio::test(start_paused = true)]
async fn events_with_keep_alive_end() {
    let layer = layer();
    let inner =
        service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new(dots(SECOND)))));
    let body = layer.layer(inner).oneshot(request()).await.unwrap().into_body();
    let reader = tokio::spawn(body.collect());
    sleep(10 * SECOND).await;
    assert!(!reader.is_finished());
    let start = Instant::now();
    layer.drain(5 * SECOND);
    layer.drain(PLENTY);
    let error = reader.await.unwrap().unwrap_err();
    assert_took(start.elapsed(), 5 * SECOND);
    assert!(error.is::<Exhausted>());
    assert_eq!(error.to_string(), "the body was cut, because the service stops");
    assert_eq!(layer.stats().ended_bodies, 1);
}

#[tokio::test(start_paused = true)]
async fn a_silent_body_is_woken() {
    for asks in [request(), grpc_request(None)] {
        let layer = layer();
        let is_grpc = !asks.headers().is_empty();
        let body = layer.layer(silent()).oneshot(asks).await.unwrap().into_body();
        let reader = tokio::spawn(body.collect());
        sleep(SECOND).await;
        layer.drain(SECOND);
        let ended = timeout(2 * SECOND, reader).await.expect("it ends").unwrap();
        assert_eq!(ended.is_ok(), is_grpc, "gRPC has trailers");
        if let Ok(body) = ended {
            assert_eq!(body.trailers().unwrap()["grpc-status"], "14");
        }
    }
}

/// The outer layer has the same end, or a later one.
#[tokio::test(start_paused = true)]
async fn an_inner_layer_ends_its_bodies() {
    for outer in [cap(PLENTY), cap(PLENTY).idle(PLENTY / 2)] {
        for inner in [Settings::new(), Settings::new().idle(PLENTY), cap(PLENTY)] {
            let (outer, layer) = (BudgetLayer::server(outer.clone()), BudgetLayer::server(inner));
            let service = outer.layer(layer.layer(silent()));
            let body = service.oneshot(request()).await.unwrap().into_body();
            let reader = tokio::spawn(body.collect());
            sleep(SECOND).await;
            assert!(!reader.is_finished());
            layer.drain(SECOND);
            let ended = timeout(2 * SECOND, reader).await.expect("it ends").unwrap();
            assert!(ended.unwrap_err().is::<Exhausted>());
            let (outer, inner) = (outer.stats().ended_bodies, layer.stats().ended_bodies);
            assert_eq!((outer, inner), (0, 1));
        }
    }
}

/// A body that begins during the drain, and one that is always ready.
#[tokio::test(start_paused = true)]
async fn later_bodies_end_too() {
    let layer = layer();
    layer.drain(SECOND);
    let body = layer.layer(silent()).oneshot(request()).await.unwrap().into_body();
    assert!(timeout(2 * SECOND, body.collect()).await.expect("it ends").is_err());
    let ready_always = service_fn(|_: Request<()>| {
        ready(Ok::<_, Infallible>(Response::new(frames(|_| {
            Poll::Ready(Some(Ok::<_, Infallible>(dot())))
        }))))
    });
    let mut body = layer.layer(ready_always).oneshot(request()).await.unwrap().into_body();
    assert!(body.frame().await.unwrap().is_ok(), "the first frame is exempt");
    assert!(body.frame().await.unwrap().is_err());
}
