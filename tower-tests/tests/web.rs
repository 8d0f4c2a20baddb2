//! The deadlines of gRPC and of gRPC-Web, over HTTP/1.1 and HTTP/2, inside and outside of
//! tonic-web's layer.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, Version};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use prost::Message as _;
use tach_tower::{BudgetLayer, ServerSide, Settings};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic_web::GrpcWebLayer;
use tower_tests::chain::{Chain, Work};
use tower_tests::journal::Journal;

const WORK: Work = Work { millis: 60_000 };

/// Serves a service that works for a minute, with the budget's layer outside of tonic-web's or
/// inside.
async fn serve(is_outside: bool) -> (SocketAddr, BudgetLayer<ServerSide>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (layer, chain) =
        (BudgetLayer::server(Settings::new()), Chain::new("last", None, &Journal::default()));
    let (budgets, incoming) = (layer.clone(), TcpIncoming::from(listener));
    let server = Server::builder().accept_http1(true);
    if is_outside {
        let mut server = server.layer(budgets).layer(GrpcWebLayer::new());
        tokio::spawn(server.add_service(chain).serve_with_incoming(incoming));
    } else {
        let mut server = server.layer(GrpcWebLayer::new()).layer(budgets);
        tokio::spawn(server.add_service(chain).serve_with_incoming(incoming));
    }
    (address, layer)
}

async fn ask(
    address: SocketAddr,
    version: Version,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> Response<hyper::body::Incoming> {
    let is_http2 = version == Version::HTTP_2;
    let client = Client::builder(TokioExecutor::new()).http2_only(is_http2).build_http();
    let mut request = Request::post(format!("http://{address}/test.Chain/Unary"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client.request(request.body(Full::new(Bytes::from(body))).unwrap()).await.unwrap()
}

fn code(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get("grpc-status").map(http::HeaderValue::as_bytes)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_deadline_is_read_in_both_orders() {
    let message = WORK.encode_to_vec();
    let frame = [&[0, 0, 0, 0, u8::try_from(message.len()).unwrap()], &message[..]].concat();
    // `frame` in base64.
    let text = b"AAAAAAQI4NQD".to_vec();
    let contents = [
        ("application/grpc", frame.clone(), false),
        ("application/grpc-web", frame.clone(), true),
        ("application/grpc-web+proto", frame.clone(), true),
        ("application/grpc-web-text", text, true),
    ];
    for is_outside in [true, false] {
        for (content, body, is_web) in &contents {
            for version in [Version::HTTP_11, Version::HTTP_2] {
                // tonic serves plain gRPC over HTTP/2 alone.
                if !is_web && version == Version::HTTP_11 {
                    continue;
                }
                let (address, layer) = serve(is_outside).await;
                let headers =
                    [("content-type", *content), ("grpc-timeout", "60m"), ("te", "trailers")];
                let asked = ask(address, version, &headers, body.clone());
                let response =
                    tokio::time::timeout(Duration::from_secs(20), asked).await.expect(content);
                let case = format!("{content} {version:?}, outside: {is_outside}");
                assert_eq!(response.status(), StatusCode::OK, "{case}");
                assert_eq!(code(response.headers()), Some(&b"4"[..]), "{case}: {response:?}");
                let own = response.headers()["content-type"].to_str().unwrap();
                // tonic-web asks the header `accept`.
                let expected = if *is_web { "application/grpc-web" } else { "application/grpc" };
                assert!(own.starts_with(expected), "{case}: {own}");
                let stats = layer.stats();
                assert_eq!((stats.deadlines, stats.exhausted), (1, 1), "{case}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_deadlines_are_read_over_both_versions() {
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let (address, layer) = serve(true).await;
        let response = ask(address, version, &[("request-timeout", "0")], Vec::new()).await;
        assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT, "{version:?}");
        let stats = layer.stats();
        assert_eq!((stats.deadlines, stats.expired, stats.refused), (1, 1, 1));
    }
}
