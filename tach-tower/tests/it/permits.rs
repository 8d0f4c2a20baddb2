//! A refused request leaves nothing behind in the services inside, whatever they had reserved for
//! it. Each of tower's middleware that reserves is tried inside and outside of the layer.

use core::convert::Infallible;
use core::fmt::Debug;

use http::{Request, Response, StatusCode};
use tach_tower::{BudgetBody, BudgetLayer, BudgetService, ServerSide, Syntax};
use tokio::time::{sleep, timeout};
use tower::balance::p2c::Balance;
use tower::buffer::Buffer;
use tower::discover::ServiceList;
use tower::limit::{GlobalConcurrencyLimitLayer, RateLimit, rate::Rate};
use tower::load::Constant;
use tower::load_shed::LoadShed;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::kit::{GRPC_TIMEOUT, SECOND, cap, request, request_with};

async fn answer(_: Request<()>) -> Result<Response<String>, Infallible> {
    sleep(SECOND).await;
    Ok(Response::new(String::new()))
}

fn layer() -> BudgetLayer<ServerSide> {
    BudgetLayer::server(cap(60 * SECOND).header(GRPC_TIMEOUT, Syntax::Grpc))
}

/// Returns a request without time, which anybody can send.
fn late() -> Request<()> {
    request_with(&GRPC_TIMEOUT, b"0n")
}

async fn status<S>(service: &mut S, request: Request<()>) -> StatusCode
where
    S: Service<Request<()>, Response = Response<BudgetBody<String>>, Error: Debug>,
{
    let call = async { service.ready().await.unwrap().call(request).await.unwrap().status() };
    timeout(600 * SECOND, call).await.expect("every request is answered")
}

/// Asserts that `service` serves others after it has refused a request.
async fn assert_serves<S>(mut service: S)
where
    S: Service<Request<()>, Response = Response<BudgetBody<String>>, Error: Debug>,
{
    for _ in 0..2 {
        assert_eq!(status(&mut service, late()).await, StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(status(&mut service, request()).await, StatusCode::OK);
    }
}

/// Asserts that clones of `service` share the one place that `inner` has, also if a refused request
/// had taken it, or was in the queue for it, and is not dropped.
async fn assert_shares<S>(service: BudgetService<S, ServerSide>)
where
    S: Service<Request<()>, Response = Response<String>, Error: Debug> + Clone,
{
    // The place is free.
    let mut refusing = service.clone();
    assert_eq!(status(&mut refusing, late()).await, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(status(&mut service.clone(), request()).await, StatusCode::OK);
    // The place is taken.
    let mut holder = service.get_ref().clone();
    holder.ready().await.unwrap();
    let mut waiting = service.clone();
    assert_eq!(status(&mut waiting, late()).await, StatusCode::GATEWAY_TIMEOUT);
    drop(holder);
    assert_eq!(status(&mut service.clone(), request()).await, StatusCode::OK);
    drop((refusing, waiting));
}

/// One call is in flight, and a request without time comes on another connection, which stays open.
#[tokio::test(start_paused = true)]
async fn a_place_in_a_queue_is_given_up() {
    let limit = GlobalConcurrencyLimitLayer::new(1).layer(service_fn(answer));
    let service = layer().layer(limit);
    let [mut first, mut other] = [(); 2].map(|()| Buffer::new(service.clone(), 8));
    let mut busy = first.clone();
    let busy = tokio::spawn(async move { status(&mut busy, request()).await });
    sleep(SECOND / 2).await;
    assert_eq!(status(&mut other, late()).await, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(busy.await.unwrap(), StatusCode::OK);
    for _ in 0..5 {
        assert_eq!(status(&mut first, request()).await, StatusCode::OK);
        assert_eq!(status(&mut other, request()).await, StatusCode::OK);
    }
}

#[tokio::test(start_paused = true)]
async fn concurrency_limit() {
    let limit = GlobalConcurrencyLimitLayer::new(1);
    assert_shares(layer().layer(limit.layer(service_fn(answer)))).await;
    assert_serves(limit.layer(layer().layer(service_fn(answer)))).await;
}

#[tokio::test(start_paused = true)]
async fn buffer() {
    // Its worker holds a request, so the buffer's one place is the only one.
    let limit = GlobalConcurrencyLimitLayer::new(1).layer(service_fn(answer));
    let mut permit = limit.clone();
    permit.ready().await.unwrap();
    let mut buffer = Buffer::new(limit, 1);
    let held = tokio::spawn(buffer.ready().await.unwrap().call(request()));
    sleep(SECOND).await;
    let service = layer().layer(buffer.clone());
    let mut refusing = service.clone();
    assert_eq!(status(&mut refusing, late()).await, StatusCode::GATEWAY_TIMEOUT);
    let mut holder = buffer.clone();
    timeout(SECOND, holder.ready()).await.expect("the place is free").unwrap();
    let mut waiting = service.clone();
    assert_eq!(status(&mut waiting, late()).await, StatusCode::GATEWAY_TIMEOUT);
    drop(holder);
    timeout(SECOND, buffer.ready()).await.expect("the place is free").unwrap();
    drop((refusing, waiting, permit, buffer));
    held.await.unwrap().unwrap();

    assert_serves(layer().layer(Buffer::new(service_fn(answer), 1))).await;
    assert_serves(Buffer::new(layer().layer(service_fn(answer)), 1)).await;
}

#[tokio::test(start_paused = true)]
async fn rate_limit() {
    // Inside, a refused request takes nothing of the rate.
    let limit = RateLimit::new(service_fn(answer), Rate::new(2, 3_600 * SECOND));
    assert_serves(layer().layer(Buffer::new(limit, 1))).await;
    // Outside, it is a request like others.
    let limit = RateLimit::new(layer().layer(service_fn(answer)), Rate::new(4, 3_600 * SECOND));
    assert_serves(limit).await;
}

#[tokio::test(start_paused = true)]
async fn load_shed() {
    let limit = GlobalConcurrencyLimitLayer::new(1);
    assert_shares(layer().layer(LoadShed::new(limit.layer(service_fn(answer))))).await;
    assert_serves(LoadShed::new(layer().layer(limit.layer(service_fn(answer))))).await;
}

#[tokio::test(start_paused = true)]
async fn balance() {
    let limit = GlobalConcurrencyLimitLayer::new(1);
    let endpoints = [1, 2].map(|load| Constant::new(limit.layer(service_fn(answer)), load));
    let inside = Balance::<_, Request<()>>::new(ServiceList::new::<Request<()>>(endpoints));
    assert_serves(layer().layer(Buffer::new(inside, 1))).await;
    // Balance reserves at all endpoints, which share no permit here.
    let limit = || GlobalConcurrencyLimitLayer::new(1).layer(service_fn(answer));
    let endpoints = [1, 2].map(|load| Constant::new(layer().layer(limit()), load));
    let outside = Balance::<_, Request<()>>::new(ServiceList::new::<Request<()>>(endpoints));
    assert_serves(outside).await;
}
