//! One trace over three hops: reqwest to axum, to tonic, and by reqwest to axum again.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use axum::{Router, serve};
use http::Uri;
use http::uri::PathAndQuery;
use reqwest::{Client, Method, Request, Url};
use tach_http::{ClientSide, RequestLayer, RequestService};
use tach_pipeline::{Durations, Otlp, Pipeline, Signal, Sink};
use tach_tower::{BudgetLayer, Settings};
use test_support::otlp::{self, Span};
use test_support::receiver;
use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::server::NamedService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic_prost::ProstCodec;
use tower::{Layer as _, Service, ServiceBuilder, ServiceExt as _, service_fn};
use tower_tests::chain::Work;

/// Long enough for any machine: no test fails by being slow.
const LONG: Duration = Duration::from_secs(60);
const SECRET: &str = "token=secret";

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn reqwest() -> Client {
    Client::builder().no_proxy().build().unwrap()
}

fn url(address: SocketAddr, path: &str) -> Url {
    format!("http://{address}{path}?{SECRET}").parse().unwrap()
}

/// The last service, which answers with the baggage.
async fn serve_last() -> SocketAddr {
    let (listener, address) = listen().await;
    let baggage = |headers: HeaderMap| async move {
        headers.get("baggage").map_or(String::new(), |it| it.to_str().unwrap().to_owned())
    };
    let app = Router::new().route("/last/{id}", get(baggage)).layer(RequestLayer::server());
    tokio::spawn(async move { serve(listener, app).await });
    address
}

/// The service in the middle, of tonic.
#[derive(Debug, Clone)]
struct Middle {
    last: SocketAddr,
}

impl NamedService for Middle {
    const NAME: &'static str = "test.Middle";
}

impl Middle {
    async fn serve(self) -> SocketAddr {
        let (listener, address) = listen().await;
        let layers = ServiceBuilder::new()
            .layer(RequestLayer::server())
            .layer(BudgetLayer::server(Settings::new().cap(LONG)));
        let server = Server::builder().layer(layers.into_inner()).add_service(self);
        tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
        address
    }

    async fn ask(self, work: Work) -> Result<tonic::Response<Work>, tonic::Status> {
        let client = reqwest_middleware::ClientBuilder::new(reqwest());
        let client = client.with(RequestLayer::client()).build();
        let answer = client.get(url(self.last, "/last/7")).send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), "tenant=7");
        Ok(tonic::Response::new(work))
    }
}

impl<B> Service<http::Request<B>> for Middle
where
    B: http_body::Body<
            Data = bytes::Bytes,
            Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
        > + Send
        + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let middle = self.clone();
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::<Work, Work>::default());
            let ask = service_fn(move |request: tonic::Request<Work>| {
                Box::pin(middle.clone().ask(request.into_inner()))
            });
            Ok(grpc.unary(ask, request).await)
        })
    }
}

type Traced = RequestService<Channel, ClientSide>;

/// Asks the service in the middle, or one that is not there.
async fn ask(channel: Traced, path: &'static str) -> Result<Work, tonic::Status> {
    let mut grpc = Grpc::with_origin(channel, Uri::from_static("http://middle:81"));
    grpc.ready().await.unwrap();
    let codec = ProstCodec::<Work, Work>::default();
    let request = tonic::Request::new(Work { millis: 1 });
    let answer = grpc.unary(request, PathAndQuery::from_static(path), codec).await;
    answer.map(tonic::Response::into_inner)
}

/// The service in front, which asks the one in the middle.
async fn serve_front(middle: SocketAddr) -> SocketAddr {
    async fn user(State(channel): State<Traced>, Path(id): Path<u64>) -> StatusCode {
        let path = if id == 0 { "/test.Nobody/Ask" } else { "/test.Middle/Ask" };
        ask(channel, path).await.map_or(StatusCode::BAD_GATEWAY, |_| StatusCode::OK)
    }
    let (listener, address) = listen().await;
    let endpoint = Endpoint::from_shared(format!("http://{middle}")).unwrap();
    let channel = RequestLayer::client().layer(endpoint.connect_lazy());
    let app = Router::new().route("/users/{id}", get(user)).with_state(channel);
    let app = app.layer(RequestLayer::server());
    tokio::spawn(async move { serve(listener, app).await });
    address
}

/// Asks the service in front, and returns the status.
async fn call(front: SocketAddr, path: &str) -> StatusCode {
    let mut request = Request::new(Method::GET, url(front, path));
    request.headers_mut().insert("baggage", "tenant=7".parse().unwrap());
    let answer = RequestLayer::client().layer(reqwest()).oneshot(request).await.unwrap();
    let status = answer.status();
    answer.bytes().await.unwrap();
    status
}

/// Returns the names, kinds and statuses from a span down to its only child without one.
fn chain(spans: &[Span]) -> Vec<(&str, u64, u64)> {
    let mut parent = 0;
    let mut chain = Vec::new();
    while let Some(span) = spans.iter().find(|span| span.parent == parent) {
        assert_eq!(spans.iter().filter(|other| other.parent == parent).count(), 1, "{spans:?}");
        chain.push((&*span.name, span.kind, span.status));
        parent = span.id;
    }
    chain
}

#[test]
fn three_hops_are_one_tree() {
    let (endpoint, requests) = receiver::serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG).signals([Signal::Traces]);
    let durations = Durations::new().attribute("http.route").attribute("rpc.method");
    let builder = Pipeline::builder().sink(Sink::otlp(otlp)).durations(durations);
    let guard = builder.build().unwrap();
    tracing::subscriber::set_global_default(guard.pipeline().subscriber()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let received = |path: &'static str, status: StatusCode| {
        let answer = runtime.block_on(async {
            let last = serve_last().await;
            let front = serve_front(Middle { last }.serve().await).await;
            call(front, path).await
        });
        assert_eq!(answer, status);
        // The servers' last spans may end after the client has its answer.
        let mut spans = Vec::new();
        let expected = if status == StatusCode::OK { 6 } else { 4 };
        while spans.len() < expected {
            guard.pipeline().flush(LONG).unwrap();
            spans.extend(requests.try_iter().flat_map(|(_, body)| otlp::spans(&body)));
        }
        assert!(spans.iter().all(|span| span.trace == spans[0].trace), "{spans:?}");
        assert!(!format!("{spans:?}").contains("secret"), "{spans:?}");
        spans
    };
    let spans = received("/users/7", StatusCode::OK);
    let expected = [
        ("GET", 3, 0),
        ("GET /users/{id}", 2, 0),
        ("test.Middle/Ask", 3, 0),
        ("test.Middle/Ask", 2, 0),
        ("GET", 3, 0),
        ("GET /last/{id}", 2, 0),
    ];
    assert_eq!(chain(&spans), expected);
    let client =
        spans.iter().find(|span| span.name == "test.Middle/Ask" && span.kind == 3).unwrap();
    let address = ["server.address", "server.port"].map(|key| &*client.attributes[key]);
    assert_eq!(address, ["middle", "81"]);

    // A method that is not there: the name is the caller's, the server has no such handler.
    let spans = received("/users/0", StatusCode::BAD_GATEWAY);
    let expected =
        [("GET", 3, 2), ("GET /users/{id}", 2, 2), ("test.Nobody/Ask", 3, 2), ("grpc", 2, 2)];
    assert_eq!(chain(&spans), expected);

    let durations = guard.pipeline().durations();
    let routes: Vec<_> = durations
        .iter()
        .flat_map(|spans| {
            spans.attributes().map(move |(_, value)| (spans.name(), value, spans.count()))
        })
        .collect();
    assert!(routes.contains(&("http.server.request", "/users/{id}", 2)), "{routes:?}");
    assert!(routes.contains(&("rpc.server.call", "_OTHER", 1)), "{routes:?}");
}
