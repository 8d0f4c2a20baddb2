//! reqwest's client within the layer, and as a middleware.

use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use reqwest::{Client, Method, Request, Response, Url};
use tach_http::RequestLayer;
use test_support::otlp::Span;
use tower::{Layer as _, ServiceExt as _};

use crate::kit::{assert_has, one, spans};

const QUERY: &str = "token=secret";

/// Serves one connection with these bytes, and returns an address with a secret in it. With
/// `stalls`, the connection stays open.
fn serve(answer: &'static str, stalls: bool) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/users/7?{QUERY}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let read = stream.read(&mut [0; 4096]).unwrap();
        assert!(read > 0);
        stream.write_all(answer.as_bytes()).unwrap();
        if stalls {
            let _closed = stream.read(&mut [0]);
        }
    });
    url.parse().unwrap()
}

fn client() -> Client {
    Client::builder().no_proxy().timeout(Duration::from_millis(200)).build().unwrap()
}

/// The ways to a client with spans.
#[derive(Debug, Clone, Copy)]
enum Way {
    Layer,
    #[cfg(feature = "reqwest-middleware")]
    Middleware,
}

const WAYS: &[Way] = &[
    Way::Layer,
    #[cfg(feature = "reqwest-middleware")]
    Way::Middleware,
];

async fn send(way: Way, url: Url) -> Result<Response, Box<dyn core::error::Error + Send + Sync>> {
    let request = Request::new(Method::GET, url);
    match way {
        Way::Layer => Ok(RequestLayer::client().layer(client()).oneshot(request).await?),
        #[cfg(feature = "reqwest-middleware")]
        Way::Middleware => {
            let client = reqwest_middleware::ClientBuilder::new(client());
            Ok(client.with(RequestLayer::client()).build().execute(request).await?)
        }
    }
}

/// Sends a request, and reads the response.
fn exchange(way: Way, answer: &'static str, stalls: bool) -> Span {
    let span = one(spans(async {
        let url = serve(answer, stalls);
        if let Ok(response) = send(way, url.clone()).await {
            assert_eq!(response.url(), &url);
            assert!(response.remote_addr().is_some());
            match response.text().await {
                Ok(text) => assert_eq!(text, "text"),
                Err(error) => assert_eq!(error.is_timeout(), stalls, "{error:?}"),
            }
        }
    }));
    assert_eq!((&*span.name, span.kind), ("GET", 3));
    assert!(!format!("{span:?}").contains("secret"), "{span:?}");
    span
}

#[test]
fn a_call_has_a_span_that_ends_with_the_body() {
    for &way in WAYS {
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntext";
        let span = exchange(way, answer, true);
        assert_eq!(span.status, 0, "{span:?}");
        let url = span.attributes["url.full"].clone();
        assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/users/7"), "{url}");
        let expected = [("http.response.status_code", "200"), ("server.address", "127.0.0.1")];
        assert_has(&span, &expected);
    }
}

#[test]
fn a_body_that_is_cut_is_an_error() {
    for &way in WAYS {
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ntext";
        let span = exchange(way, answer, false);
        assert_eq!(span.status, 2);
        assert_has(&span, &[("error.type", "reqwest::Error")]);
        let span = exchange(way, answer, true);
        assert_has(&span, &[("error.type", "timeout")]);
    }
}

#[test]
fn errors_are_told_apart() {
    for &way in WAYS {
        assert_has(&exchange(way, "", true), &[("error.type", "timeout")]);
        assert_has(
            &exchange(way, "HTTP/1.1 404 No\r\ncontent-length: 4\r\n\r\ntext", true),
            &[("error.type", "404")],
        );
        let span = one(spans(async {
            let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let url = format!("http://{closed}/?{QUERY}").parse().unwrap();
            send(way, url).await.unwrap_err();
        }));
        assert_has(&span, &[("error.type", "connect")]);
        assert!(span.description.contains("refused"), "{span:?}");
        assert!(!format!("{span:?}").contains("secret"), "{span:?}");
    }
}
