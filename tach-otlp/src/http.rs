//! One request after another to an HTTP/1.1 server, by `ureq`.

mod connector;

use core::time::Duration;
use std::io::{self, Read as _};
use std::sync::Arc;
use std::time::SystemTime;

use http::header::{DATE, LOCATION, RETRY_AFTER};
use http::uri::{Scheme, Uri};
use http::{HeaderMap, Request, Response, StatusCode};
use ureq::config::Config;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, Body, Proxy};

use self::connector::{Later, connector};
use crate::encode::protobuf::Field;
use crate::exporter;
use crate::rejection::{Rejection, accepted, find, printable};
use crate::secret::Secret;
use crate::security::Security;

/// The most bytes of an answer. Answers of collectors are short.
const MOST_BYTES: u64 = 64 * 1024;
/// The most bytes of the headers before the body.
const MOST_HEADER_BYTES: usize = 64 * 1024;
/// How long a connection may be idle. A router that translates addresses forgets a connection after
/// some minutes. It drops what is sent afterwards without a word, so a request would wait for its
/// whole timeout.
const LONGEST_IDLE: Duration = Duration::from_secs(60);
const MOST_REDIRECTS: usize = 5;

/// Returns the connections to one server.
pub(crate) fn agent(proxy: Option<Proxy>, security: Option<&dyn Security>) -> Agent {
    let mut config = Config::builder()
        .http_status_as_error(false)
        // A header may be a secret, and `ureq` would send it to any host.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_response_header_size(MOST_HEADER_BYTES)
        .max_idle_connections(1)
        .max_idle_age(LONGEST_IDLE)
        .proxy(proxy)
        .user_agent("")
        .accept("")
        .accept_encoding("");
    if let Some(security) = security {
        config = security.for_http(config);
    }
    Agent::with_parts(config.build(), connector(DefaultResolver::default()), Later)
}

/// The server and the fixed part of each request.
pub(crate) struct Client {
    agent: Agent,
    /// `None` for a plain connection.
    security: Option<Arc<dyn Security>>,
    uri: Uri,
    headers: HeaderMap,
    /// The time for a request and its answer, and again for the request that follows a redirect.
    timeout: Duration,
}

impl Client {
    /// Creates a client that connects at its first request.
    pub(crate) fn new(
        agent: Agent,
        security: Option<Arc<dyn Security>>,
        uri: Uri,
        headers: HeaderMap,
        timeout: Duration,
    ) -> Self {
        Self { agent, security, uri, headers, timeout }
    }

    /// Posts a request, and returns whether its items were accepted.
    fn send(&self, request: &[u8]) -> Result<(), Rejection> {
        let mut uri = self.uri.clone();
        for _ in 0..=MOST_REDIRECTS {
            let response = self.post(&uri, request).map_err(Rejection::failed)?;
            let Some(location) = location(&response) else { return judge(response) };
            let status = response.status().as_u16();
            uri = redirected(&uri, location).ok_or_else(|| {
                let there = Secret::new(location).shown();
                let reason = format!("HTTP {status}: the collector is at {there}");
                Rejection::never(printable(&reason))
            })?;
        }
        Err(Rejection::never(format!("more than {MOST_REDIRECTS} redirects")))
    }

    fn post(&self, uri: &Uri, body: &[u8]) -> io::Result<Response<Body>> {
        let mut request = Request::post(uri).body(body).map_err(io::Error::other)?;
        *request.headers_mut() = self.headers.clone();
        let request = self.agent.configure_request(request).timeout_global(Some(self.timeout));
        self.agent.run(request.build()).map_err(|error| match error {
            ureq::Error::Timeout(_) => io::ErrorKind::TimedOut.into(),
            error => match &self.security {
                Some(security) => security.explained(error.into_io()),
                None => error.into_io(),
            },
        })
    }
}

impl exporter::Client for Client {
    fn send(&mut self, request: &[u8]) -> Result<(), Rejection> {
        Self::send(self, request)
    }
}

/// Returns the address to which a request must be repeated as it is.
fn location(response: &Response<Body>) -> Option<&str> {
    let status = response.status();
    let is_redirect =
        [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT].contains(&status);
    let location = response.headers().get(LOCATION).filter(|_| is_redirect);
    location.and_then(|location| location.to_str().ok())
}

/// Returns the address of the repeated request: `None` if it has another server than the one that
/// the program names, to which the request's headers would be revealed.
fn redirected(from: &Uri, location: &str) -> Option<Uri> {
    let to: Uri = location.parse().ok()?;
    let mut parts = from.clone().into_parts();
    parts.path_and_query = Some(to.path_and_query()?.clone());
    let (Some(authority), Some(scheme)) = (to.authority(), to.scheme()) else {
        // Two slashes begin the name of another host.
        let is_path = location.starts_with('/') && !location.starts_with("//");
        return Uri::from_parts(parts).ok().filter(|_| is_path);
    };
    let is_same_host = from.host()?.eq_ignore_ascii_case(authority.host());
    // For an endpoint without TLS, no certificates have been read, and `ureq` would panic.
    let is_same_port = port(from) == port(&to) && from.scheme() == Some(scheme);
    let has_user = authority.as_str().contains('@');
    (is_same_host && is_same_port && !has_user).then_some(to)
}

fn port(uri: &Uri) -> u16 {
    let default = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    uri.port_u16().unwrap_or(default)
}

/// Returns whether the collector accepted the items.
fn judge(response: Response<Body>) -> Result<(), Rejection> {
    let (head, body) = response.into_parts();
    let mut answer = Vec::new();
    let read = body.into_reader().take(MOST_BYTES).read_to_end(&mut answer);
    let status = head.status.as_u16();
    match status {
        200..300 => {
            read.map_err(Rejection::failed)?;
            accepted(&answer)
        }
        429 | 502..=504 => {
            Err(Rejection::busy(&reason(status, &answer), asked_pause(&head.headers)))
        }
        400 | 413 => Err(Rejection::Whole { reason: reason(status, &answer) }),
        _ => Err(Rejection::never(reason(status, &answer))),
    }
}

/// Returns the pause that the header `retry-after` asks for: a number of seconds, or a date by the
/// server's clock.
fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let after = text(RETRY_AFTER)?;
    if let Ok(seconds) = after.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(after).ok()?;
    let now = text(DATE).and_then(|date| httpdate::parse_http_date(date).ok());
    // A date in the past means no pause.
    Some(until.duration_since(now.unwrap_or_else(SystemTime::now)).unwrap_or_default())
}

/// Returns the status and the message of an answer: a `Status` in protobuf, or a text.
fn reason(status: u16, answer: &[u8]) -> String {
    let message = match find(answer, 2) {
        Some(Field::Bytes(message)) => message,
        _ => answer,
    };
    match core::str::from_utf8(message).map(str::trim) {
        Ok(text) if !text.is_empty() => format!("HTTP {status}: {}", printable(text)),
        _ => format!("HTTP {status}"),
    }
}

#[cfg(test)]
mod tests {
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

    const LONG: Duration = Duration::from_secs(60);
    const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    const LAST: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

    fn client(listener: &TcpListener, timeout: Duration) -> Client {
        let port = listener.local_addr().unwrap().port();
        let uri = format!("http://127.0.0.1:{port}/v1/logs?key=1").parse().unwrap();
        Client::new(agent(None, None), None, uri, HeaderMap::new(), timeout)
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
    fn sent(client: &Client, body: &[u8]) -> String {
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
        let (client, server) = serve(vec![answers.map(str::to_owned).to_vec()]);
        for (body, expected) in [
            ("first", "accepted"),
            ("", "later: the collector is busy: HTTP 429; it asks to wait 7s Some(7s)"),
            ("third", "whole: HTTP 400: abcde"),
            ("fourth", "accepted"),
            ("fifth", "accepted"),
        ] {
            assert_eq!(sent(&client, body.as_bytes()), expected);
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
        let (client, server) = serve(vec![answers.to_vec()]);
        for framing in framings {
            assert_eq!(sent(&client, b""), "accepted", "{framing:?}");
        }
        server.join().unwrap();
    }

    #[test]
    fn a_pause_may_be_a_date() {
        for (date, after, expected) in [
            (None, "7", Some(7)),
            (Some("Fri, 31 Dec 1999 23:59:59 GMT"), "Sat, 01 Jan 2000 00:00:09 GMT", Some(10)),
            (Some("Fri, 31 Dec 1999 23:59:59 GMT"), "Fri, 31 Dec 1999 23:59:58 GMT", Some(0)),
            // Without a date of its own, the server's clock is taken to be right.
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
        let (client, server) = serve(answers.to_vec());
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
        let kept =
            format!("HTTP/1.1 200 OK\r\n{}content-length: 2\r\n\r\nab", "x: y\r\n".repeat(90));
        let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(length));
        let long =
            format!("HTTP/1.1 400 Bad\r\ncontent-length: {length}\r\n\r\n{}", "x".repeat(length));
        for (text, expected) in [
            (kept, "accepted".to_owned()),
            (endless, "accepted".to_owned()),
            (long, format!("whole: HTTP 400: {}", "x".repeat(200))),
        ] {
            let (client, server) = serve(vec![vec![text]]);
            assert_eq!(sent(&client, b""), expected);
            drop(client);
            server.join().unwrap();
        }
        let headers = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(length));
        let (client, server) = serve(vec![vec![headers]]);
        assert!(sent(&client, b"").starts_with("later"), "no more headers are read");
        drop(client);
        server.join().unwrap();
    }

    #[test]
    fn an_answer_that_is_no_http_is_tried_again() {
        for text in [
            "SSH-2.0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        ] {
            let (client, server) = serve(vec![vec![text.to_owned()]]);
            let answer = sent(&client, b"");
            assert!(answer.starts_with("later"), "{text:?} {answer}");
            drop(client);
            server.join().unwrap();
        }
    }

    #[test]
    fn an_answer_that_never_comes_ends_at_the_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = client(&listener, Duration::from_millis(50));
        // The second one is longer than the buffers of both ends, so that sending waits too.
        for body in [b"body".to_vec(), vec![0; 64 * 1024 * 1024]] {
            let Err(Rejection::Later { error, .. }) = client.send(&body) else {
                panic!("an answer")
            };
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
        let client = Client::new(agent, None, uri, HeaderMap::new(), LONG);
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
            assert_eq!(sent(&client, b"items"), "accepted");
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
        let client = client(&listener, LONG);
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
        assert_eq!(sent(&client, b"items"), "accepted");
        assert_eq!(sent(&client, b"items"), never("HTTP 302"));
        let elsewhere = "HTTP 307: the collector is at http://stranger.example/logs";
        assert_eq!(sent(&client, b"items"), never(elsewhere));
        let by_tls = "HTTP 307: the collector is at https://127.0.0.1/logs";
        assert_eq!(sent(&client, b"items"), never(by_tls));
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
}
