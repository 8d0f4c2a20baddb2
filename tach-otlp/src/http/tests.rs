//! Collectors that answer in all ways.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::*;
use crate::exporter::Client as _;

const LONG: Duration = Duration::from_secs(60);
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const LAST: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

fn client(listener: &TcpListener, timeout: Duration) -> Client {
    let port = listener.local_addr().unwrap().port();
    let uri = format!("http://127.0.0.1:{port}/v1/logs?key=1").parse().unwrap();
    let advice = Advice::of_test(false);
    Client {
        agent: agent(None, None),
        security: None,
        uri,
        headers: HeaderMap::new(),
        timeout,
        advice,
    }
}

/// Returns these addresses for any host, and counts the questions.
#[derive(Debug)]
struct Addresses(Vec<SocketAddr>, Arc<AtomicUsize>);

impl Resolver for Addresses {
    fn resolve(
        &self,
        _: &Uri,
        _: &Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        self.1.fetch_add(1, Ordering::Relaxed);
        let mut addresses = self.empty();
        self.0.iter().for_each(|address| addresses.push(*address));
        Ok(addresses)
    }
}

/// Reads a request, and returns its first line and its body.
fn request(stream: &mut BufReader<TcpStream>) -> (String, Vec<u8>) {
    let (mut first, mut length) = (String::new(), 0);
    stream.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        match line.trim().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            None if line == "\r\n" => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (first.trim().to_owned(), body)
}

/// Answers requests: on each connection with these texts, one after another. Returns the bodies
/// of the requests at the end.
fn serve(connections: Vec<Vec<String>>) -> (Client, JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = client(&listener, LONG);
    let server = thread::spawn(move || {
        let mut bodies = Vec::new();
        for answers in connections {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            for answer in answers {
                bodies.push(request(&mut stream).1);
                // A client that has seen enough closes the connection.
                let _broken_pipe = stream.get_mut().write_all(answer.as_bytes());
            }
        }
        bodies
    });
    (client, server)
}

fn never(text: &str) -> String {
    format!("never: {text}")
}

/// Sends a request, and returns a text of what the client made of the answer.
fn sent(client: &mut Client, body: &[u8]) -> String {
    match client.send(body) {
        Ok(()) => "accepted".to_owned(),
        Err(Rejection::Never { reason, .. }) => never(&reason),
        Err(Rejection::Whole { reason }) => format!("whole: {reason}"),
        Err(Rejection::Later { error, after }) => format!("later: {error} {after:?}"),
    }
}

#[test]
fn a_connection_serves_many_requests_in_all_forms_of_an_answer() {
    let answers = [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\nretry-after: 7\r\n\
         content-length: 0\r\n\r\n",
        "HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
        "HTTP/1.1 204 None\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nuntil the end",
    ];
    let (mut client, server) = serve(vec![answers.map(str::to_owned).to_vec()]);
    for (body, expected) in [
        ("first", "accepted"),
        ("", "later: the collector is busy: HTTP 429; it asks to wait 7s Some(7s)"),
        ("third", "whole: HTTP 400: abcde"),
        ("fourth", "accepted"),
        ("fifth", "accepted"),
    ] {
        assert_eq!(sent(&mut client, body.as_bytes()), expected);
    }
    let bodies: [&[u8]; 5] = [b"first", b"", b"third", b"fourth", b"fifth"];
    assert_eq!(server.join().unwrap(), bodies);
}

#[test]
fn an_accepted_answer_may_be_framed_in_any_legal_way() {
    let framings = [
        "content-length: 0, 0\r\n\r\n",
        "content-length: 0\r\nContent-Length: 0\r\n\r\n",
        "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n0;a=b\r\ntrailer: x\r\n\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 7\r\n\r\n0\r\n\r\n",
        "CONTENT-LENGTH:0\r\nx-empty:\r\n\r\n",
    ];
    let answers = framings.map(|framing| format!("HTTP/1.1 200 OK\r\n{framing}"));
    let (mut client, server) = serve(vec![answers.to_vec()]);
    for framing in framings {
        assert_eq!(sent(&mut client, b""), "accepted", "{framing:?}");
    }
    server.join().unwrap();
}

#[test]
fn a_pause_may_be_a_date() {
    for (date, after, expected) in [
        (None, "7", Some(7)),
        (Some("Fri, 31 Dec 1999 23:59:59 GMT"), "Sat, 01 Jan 2000 00:00:09 GMT", Some(10)),
        (Some("Fri, 31 Dec 1999 23:59:59 GMT"), "Fri, 31 Dec 1999 23:59:58 GMT", Some(0)),
        // If the answer has no date, the server's clock counts as right.
        (None, "Fri, 31 Dec 1999 23:59:59 GMT", Some(0)),
        (None, "soon", None),
        (None, "-1", None),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, after.parse().unwrap());
        date.map(|date| headers.insert(DATE, date.parse().unwrap()));
        assert_eq!(asked_pause(&headers), expected.map(Duration::from_secs), "{after}");
    }
}

#[test]
fn a_connection_that_the_server_closed_is_replaced() {
    let closes = "HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 0\r\n\r\n";
    let answers = [OK, closes, OK].map(|answer| vec![answer.to_owned()]);
    let (mut client, server) = serve(answers.to_vec());
    for body in [b"1", b"2", b"3"] {
        // Retry, since the end of the connection may arrive later than the answer.
        let end = Instant::now() + LONG;
        while client.send(body).is_err() && Instant::now() < end {}
    }
    assert_eq!(server.join().unwrap(), [b"1", b"2", b"3"]);
}

#[test]
fn an_answer_that_is_too_long_is_read_in_part() {
    let length = 2 * 64 * 1024;
    let kept = format!("HTTP/1.1 200 OK\r\n{}content-length: 2\r\n\r\nab", "x: y\r\n".repeat(90));
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(length));
    let long =
        format!("HTTP/1.1 400 Bad\r\ncontent-length: {length}\r\n\r\n{}", "x".repeat(length));
    for (text, expected) in [
        (kept, "accepted".to_owned()),
        (endless, "accepted".to_owned()),
        (long, format!("whole: HTTP 400: {}", "x".repeat(200))),
    ] {
        let (mut client, server) = serve(vec![vec![text]]);
        assert_eq!(sent(&mut client, b""), expected);
        drop(client);
        server.join().unwrap();
    }
    let headers = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(length));
    let (mut client, server) = serve(vec![vec![headers]]);
    assert!(sent(&mut client, b"").starts_with("later"), "no more headers are read");
    drop(client);
    server.join().unwrap();
}

#[test]
fn an_answer_that_is_no_http_is_tried_again() {
    for text in ["SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n"] {
        let (mut client, server) = serve(vec![vec![text.to_owned()]]);
        let answer = sent(&mut client, b"");
        assert!(answer.starts_with("later"), "{text:?} {answer}");
        drop(client);
        server.join().unwrap();
    }
}

/// Sending the items again would duplicate them.
#[test]
fn an_accepted_answer_may_be_cut_short() {
    for text in [
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{\"part",
    ] {
        let (mut client, server) = serve(vec![vec![text.to_owned()]]);
        assert_eq!(sent(&mut client, b""), "accepted", "{text:?}");
        drop(client);
        server.join().unwrap();
    }
}

#[test]
fn a_mistake_has_its_sentence() {
    let of_status = |status: &str, body: &str| {
        format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let key = "in a header such as authorization: OTEL_EXPORTER_OTLP_HEADERS or Otlp::header";
    let path = "the endpoint must lead to a collector, whose path is /v1/logs";
    let other = "the collector may speak gRPC there, with OTEL_EXPORTER_OTLP_PROTOCOL=grpc or \
                 Protocol::Grpc, or want TLS, with https://";
    for (answer, expected) in [
        (of_status("401", "no key"), key),
        (of_status("403", ""), key),
        (of_status("404", "page not found"), path),
        (of_status("405", ""), path),
        (of_status("415", ""), "may take no protobuf there, or no gzip"),
        (of_status("301", ""), "may lead to a login or a proxy"),
        (
            of_status("400", "Client sent an HTTP request to an HTTPS server."),
            "the endpoint must begin with https://",
        ),
        // The first frame of HTTP/2, and TLS's alert that the other side speaks no TLS.
        ("\0\0\0\x04\0\0\0\0\0".to_owned(), other),
        ("\x15\x03\x01\0\x02\x02\x46".to_owned(), other),
        (String::new(), other),
    ] {
        let (mut client, server) = serve(vec![vec![answer.clone()]]);
        let sent = sent(&mut client, b"");
        assert!(sent.contains(&format!("; {expected}")) || sent.contains(expected), "{sent}");
        assert!(sent.contains("; "), "{sent}");
        drop(client);
        server.join().unwrap();
    }
    // A collector that has answered speaks HTTP. If its connection ends later, advice about gRPC
    // would mislead.
    let (mut client, server) = serve(vec![vec![OK.to_owned(), String::new()]]);
    assert_eq!(sent(&mut client, b""), "accepted");
    let ended = sent(&mut client, b"");
    assert!(ended.starts_with("later") && !ended.contains("gRPC"), "{ended}");
    drop(client);
    server.join().unwrap();
}

#[test]
fn an_answer_is_read_as_its_type_says() {
    let json = "application/json; charset=utf-8";
    for (kind, body, expected) in [
        ("Application/JSON", "{}", "accepted"),
        (json, "{}", "accepted"),
        (json, r#"{"partialSuccess":{"rejectedSpans":"0"}}"#, "accepted"),
        (json, "{\"partialSuccess\": {\"rejectedSpans\" : 3}}", "some 3: "),
        (json, r#"{"partialSuccess":{"rejectedSpans":"3 of 7"}}"#, "never: "),
        (json, r#"{"partialSuccess":{"rejectedSpans":null,"errorMessage":null}}"#, "accepted"),
        // The field of the count has another type.
        ("application/x-protobuf", "\n\u{3}\n\u{1}7", "never: "),
        (
            json,
            r#"{"partialSuccess":{"errorMessage":"no \"rejectedSpans\": 7","rejectedLogRecords":"12"}}"#,
            "some 12: no 'rejectedSpans': 7",
        ),
        (
            json,
            r#"{"partialSuccess":{"errorMessage":"the quota is near"}}"#,
            "some 0: the quota is near",
        ),
        (
            "Text/HTML; charset=utf-8",
            "<html>Log in</html>",
            "never: HTTP 200: <html>Log in</html>; the endpoint may lead to a login or a proxy, \
             and must name the collector",
        ),
        // Some vendors answer so.
        ("text/html", "", "accepted"),
        ("text/plain", "ok", "accepted"),
    ] {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let (mut client, server) = serve(vec![vec![text]]);
        let answer = match client.send(b"") {
            Err(Rejection::Never { count: Some(count), reason }) => {
                format!("some {count}: {reason}")
            }
            Err(Rejection::Never { reason, .. }) => never(&reason),
            other => other.map_or_else(|other| format!("{other:?}"), |()| "accepted".to_owned()),
        };
        assert_eq!(answer, expected, "{kind}: {body}");
        drop(client);
        server.join().unwrap();
    }
}

#[test]
fn an_answer_that_never_comes_ends_at_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = client(&listener, Duration::from_millis(50));
    // The second body is longer than the buffers of both ends, so that sending waits too.
    for body in [b"body".to_vec(), vec![0; 64 * 1024 * 1024]] {
        let Err(Rejection::Later { error, .. }) = client.send(&body) else { panic!("an answer") };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
    drop(listener);
    let Err(Rejection::Later { error, .. }) = client.send(b"") else { panic!("an answer") };
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn each_address_of_a_host_is_tried() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let asked = Arc::default();
    let resolver = Addresses(vec![nobody, listener.local_addr().unwrap()], Arc::clone(&asked));
    let agent = Agent::with_parts(Config::default(), connector(resolver), Later);
    let uri = "http://collector:1/v1/logs".parse().unwrap();
    let mut client = Client {
        agent,
        security: None,
        uri,
        headers: HeaderMap::new(),
        timeout: LONG,
        advice: Advice::of_test(false),
    };
    let server = thread::spawn(move || {
        for requests in [2, 1] {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            for left in (0..requests).rev() {
                assert_eq!(request(&mut stream).1, b"items");
                let answer = if left > 0 { OK } else { LAST };
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    // A host is looked up for each connection, and not for each request.
    for lookups in [1, 1, 2] {
        assert_eq!(sent(&mut client, b"items"), "accepted");
        assert_eq!(asked.load(Ordering::Relaxed), lookups);
    }
    server.join().unwrap();
}

#[test]
fn a_redirect_is_followed_on_the_same_server_alone() {
    let redirect = |status: &str, to: &str| {
        format!("HTTP/1.1 {status}\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut client = client(&listener, LONG);
    let whole = format!("http://127.0.0.1:{port}/whole");
    let server = thread::spawn(move || {
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        for (path, answer) in [
            ("/v1/logs?key=1", redirect("307 There", "/other?k=2")),
            ("/other?k=2", redirect("308 There", &whole)),
            ("/whole", OK.to_owned()),
            ("/v1/logs?key=1", redirect("302 There", "/other")),
            ("/v1/logs?key=1", redirect("307 There", "http://stranger.example/logs?key=1")),
            ("/v1/logs?key=1", redirect("307 There", "https://127.0.0.1/logs")),
        ] {
            let (first, body) = request(&mut stream);
            assert_eq!(first, format!("POST {path} HTTP/1.1"));
            assert_eq!(body, b"items");
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    assert_eq!(sent(&mut client, b"items"), "accepted");
    let login = "HTTP 302; the endpoint may lead to a login or a proxy, and must name the \
                 collector";
    assert_eq!(sent(&mut client, b"items"), never(login));
    let elsewhere = "HTTP 307: the collector is at http://stranger.example/logs";
    assert_eq!(sent(&mut client, b"items"), never(elsewhere));
    let by_tls = "HTTP 307: the collector is at https://127.0.0.1/logs";
    assert_eq!(sent(&mut client, b"items"), never(by_tls));
    server.join().unwrap();
}

#[test]
fn no_redirect_reveals_the_headers() {
    for (from, location, to) in [
        ("http://h:1/a?k", "/b", Some("http://h:1/b")),
        ("http://h:1/a", "http://H:1/b?c", Some("http://H:1/b?c")),
        ("http://h/a", "http://h:80/b", Some("http://h:80/b")),
        ("http://h/a", "https://h/b", None),
        ("http://h:1/a", "https://h:1/b", None),
        ("https://h/a", "https://h:443/b", Some("https://h:443/b")),
        ("https://h/a", "http://h/b", None),
        ("http://h:1/a", "http://h:2/b", None),
        ("http://h/a", "http://other/b", None),
        ("http://h/a", "//other/b", None),
        ("http://h/a", "http://h@other/b", None),
        ("http://h/a", "http://other@h/b", None),
        ("http://h/a", "b", None),
        ("http://h/a", "", None),
    ] {
        let found = redirected(&from.parse().unwrap(), location);
        assert_eq!(found, to.map(|to| to.parse().unwrap()), "{from} {location}");
    }
}
