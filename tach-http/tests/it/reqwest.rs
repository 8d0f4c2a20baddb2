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

/// An error that prints as the error within, which has the whole URL.
#[derive(Debug)]
struct Transparent(Box<dyn core::error::Error + Send + Sync>);

impl core::fmt::Display for Transparent {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

impl core::error::Error for Transparent {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        self.0.source()
    }
}

/// A client of the program's own, or a layer around one, wraps the errors.
#[test]
fn errors_that_are_wrapped_have_no_query() {
    type BoxError = Box<dyn core::error::Error + Send + Sync>;
    let closed = || {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        Request::new(Method::GET, format!("http://{address}/?{QUERY}").parse().unwrap())
    };
    let layer = RequestLayer::client;
    let boxed = |error: reqwest::Error| -> BoxError { error.into() };
    let transparent = |error: reqwest::Error| Transparent(error.into());
    let boxed_transparent =
        |error: reqwest::Error| -> BoxError { Transparent(error.into()).into() };
    let io = |error: reqwest::Error| std::io::Error::other(error);
    let no_text = core::any::type_name::<Transparent>();
    let mut all = Vec::new();
    all.extend([
        (
            "connect",
            one(spans(async {
                layer().layer(client().map_err(boxed)).oneshot(closed()).await.unwrap_err();
            })),
        ),
        (
            "connect",
            one(spans(async {
                layer().layer(client().map_err(io)).oneshot(closed()).await.unwrap_err();
            })),
        ),
        (
            no_text,
            one(spans(async {
                layer().layer(client().map_err(transparent)).oneshot(closed()).await.unwrap_err();
            })),
        ),
        (
            core::any::type_name::<std::io::Error>(),
            one(spans(async {
                let client = client().map_err(boxed_transparent);
                layer().layer(client).oneshot(closed()).await.unwrap_err();
            })),
        ),
    ]);
    #[cfg(feature = "reqwest-middleware")]
    {
        use reqwest_middleware::{ClientBuilder, Error};
        let middleware = || ClientBuilder::new(client()).build();
        let boxed = |error: Error| -> BoxError { error.into() };
        let outer = |error: Error| Error::middleware(error);
        all.extend([
            (
                "connect",
                one(spans(async {
                    layer().layer(middleware()).oneshot(closed()).await.unwrap_err();
                })),
            ),
            (
                "connect",
                one(spans(async {
                    layer().layer(middleware().map_err(boxed)).oneshot(closed()).await.unwrap_err();
                })),
            ),
            (
                "connect",
                one(spans(async {
                    layer().layer(middleware().map_err(outer)).oneshot(closed()).await.unwrap_err();
                })),
            ),
        ]);
    }
    for (kind, span) in all {
        assert_has(&span, &[("error.type", kind)]);
        assert_eq!(span.description.contains("refused"), kind != no_text, "{span:?}");
        assert!(!format!("{span:?}").contains("secret"), "{span:?}");
    }
}
