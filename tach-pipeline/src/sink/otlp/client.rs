//! One request after another to an HTTP/1.1 server (RFC 9112), on a connection that is kept.

use core::str;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::time::Instant;

use http::{HeaderMap, Uri};
use httparse::{EMPTY_HEADER, Response, Status};

use super::idle::Idle;
use super::stream::{self, Server, Stream};

/// The most headers of an answer.
const MOST_HEADERS: usize = 256;
/// The most bytes of an answer. A server has little to say.
const MOST_BYTES: usize = 64 * 1024;
/// The status of an answer to a connection on which no request came in time.
const REQUEST_TIMEOUT: u16 = 408;

/// The server and the fixed part of each request.
pub(super) struct Client {
    pub(super) server: Server,
    /// The request line and all headers but the length, each with its line end.
    pub(super) head: Vec<u8>,
    /// The time for a request and its answer.
    pub(super) timeout: Duration,
    /// The connection of the last request, if the server kept it.
    pub(super) connection: Idle<Connection>,
}

/// The parts of an answer that say whether the request was accepted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The pause that the server asks for before the next try.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

impl Client {
    /// Posts `body`, and returns the answer.
    ///
    /// # Errors
    ///
    /// If the server can't be reached, or does not answer in time or as HTTP has it.
    pub(super) fn post(&mut self, body: &[u8]) -> io::Result<Answer> {
        let deadline = stream::deadline(self.timeout);
        // What has arrived since the last answer would be taken for the next one.
        let kept = self.connection.take().and_then(Connection::quiet);
        if let Some(mut kept) = kept {
            let answer = kept.exchange(&self.head, body, deadline);
            // A server closes a connection that is idle, maybe while the request is on its way.
            let is_closing = matches!(&answer, Ok((it, _)) if it.status == REQUEST_TIMEOUT);
            let has_answered = answer.is_ok() || kept.has_answered;
            if !is_closing && (has_answered || Instant::now() >= deadline) {
                return self.answered(kept, answer);
            }
        }
        let mut connection = Connection::open(&self.server, deadline)?;
        let answer = connection.exchange(&self.head, body, deadline);
        self.answered(connection, answer)
    }

    fn answered(
        &mut self,
        connection: Connection,
        answer: io::Result<(Answer, bool)>,
    ) -> io::Result<Answer> {
        let (answer, is_kept) = answer?;
        if is_kept {
            self.connection.keep(connection);
        }
        Ok(answer)
    }
}

/// Returns the request line and the headers. The length is missing.
pub(super) fn head(uri: &Uri, headers: &HeaderMap) -> Vec<u8> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let mut head = format!("POST {path} HTTP/1.1\r\nhost: {host}\r\n").into_bytes();
    for (name, value) in headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    head
}

pub(super) struct Connection {
    stream: Stream,
    /// The bytes of the answer that have arrived and were not read yet.
    received: Vec<u8>,
    /// Whether any byte has arrived since the last request.
    has_answered: bool,
}

impl Connection {
    fn open(server: &Server, deadline: Instant) -> io::Result<Self> {
        let stream = Stream::open(server, deadline)?;
        Ok(Self { stream, received: Vec::new(), has_answered: false })
    }

    /// Returns the connection, unless something has arrived after the last answer.
    fn quiet(mut self) -> Option<Self> {
        (self.received.is_empty() && self.stream.is_quiet()).then_some(self)
    }

    /// Sends a request, and returns the answer and whether the connection may be used again.
    fn exchange(
        &mut self,
        head: &[u8],
        body: &[u8],
        deadline: Instant,
    ) -> io::Result<(Answer, bool)> {
        self.received.clear();
        self.has_answered = false;
        let mut request = Vec::with_capacity(head.len() + body.len() + 64);
        request.extend_from_slice(head);
        write!(request, "content-length: {}\r\n\r\n", body.len())?;
        request.extend_from_slice(body);
        self.stream.set_deadline(deadline);
        let mut unsent = self.stream.write_all(&request).and_then(|()| self.stream.flush()).err();
        let head = loop {
            // A server that refuses a request may answer and close before it has read the whole.
            let head = self.head().map_err(|error| unsent.take().unwrap_or(error))?;
            // An interim answer, such as "100 Continue", precedes the final one.
            if head.status >= 200 {
                break head;
            }
        };
        let (body, is_whole) = match head.body {
            _ if head.status == 204 => (Vec::new(), true),
            Body::Length(length) => self.take(length)?,
            Body::Chunks => self.chunks()?,
            Body::Rest => (self.rest()?, false),
        };
        let answer = Answer { status: head.status, retry_after: head.retry_after, body };
        Ok((answer, is_whole && !head.closes))
    }

    /// Reads the head of an answer.
    fn head(&mut self) -> io::Result<Head> {
        loop {
            let mut headers = [EMPTY_HEADER; MOST_HEADERS];
            let mut response = Response::new(&mut headers);
            let is_too_long = match response.parse(&self.received) {
                Ok(Status::Complete(length)) => {
                    let head = Head::of(&response)?;
                    self.received.drain(..length);
                    return Ok(head);
                }
                Ok(Status::Partial) => self.received.len() > MOST_BYTES,
                Err(httparse::Error::TooManyHeaders) => true,
                Err(error) => return Err(invalid(error)),
            };
            if is_too_long {
                return Head::of_status(response.code);
            }
            self.receive_more()?;
        }
    }

    /// Reads a body of that length, or as much as an answer may have, and whether that is all.
    fn take(&mut self, length: usize) -> io::Result<(Vec<u8>, bool)> {
        let read = length.min(MOST_BYTES);
        while self.received.len() < read {
            self.receive_more()?;
        }
        let is_whole = read == length;
        Ok((self.received.drain(..read).collect(), is_whole))
    }

    /// Reads a body in chunks, or as much of it as an answer may have, and whether that is all.
    fn chunks(&mut self) -> io::Result<(Vec<u8>, bool)> {
        let mut body = Vec::new();
        loop {
            let found = httparse::parse_chunk_size(&self.received);
            let (start, length) = match found.map_err(|_| invalid("a chunk has no length"))? {
                Status::Complete(found) => found,
                // A length may have extensions, without end.
                Status::Partial if self.received.len() > MOST_BYTES => return Ok((body, false)),
                Status::Partial => {
                    self.receive_more()?;
                    continue;
                }
            };
            self.received.drain(..start);
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            if length == 0 {
                return Ok((body, self.skip_trailers()?));
            }
            let (chunk, is_whole) = self.take(length)?;
            body.extend_from_slice(&chunk);
            if !is_whole || body.len() > MOST_BYTES {
                return Ok((body, false));
            }
            // The line end after the chunk.
            self.take(2)?;
        }
    }

    /// Skips the trailers after the last chunk. Returns `false` if there are any: they are rare, so
    /// the connection is given up.
    fn skip_trailers(&mut self) -> io::Result<bool> {
        Ok(self.take(2)?.0 == b"\r\n")
    }

    /// Reads a body that ends with the connection, or as much of it as an answer may have.
    fn rest(&mut self) -> io::Result<Vec<u8>> {
        while self.received.len() < MOST_BYTES {
            match self.receive_more() {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                received => received?,
            }
        }
        Ok(core::mem::take(&mut self.received))
    }

    fn receive_more(&mut self) -> io::Result<()> {
        let mut bytes = [0; 4096];
        let count = self.stream.read(&mut bytes)?;
        self.received.extend_from_slice(&bytes[..count]);
        self.has_answered |= count > 0;
        if count == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

struct Head {
    status: u16,
    body: Body,
    retry_after: Option<Duration>,
    closes: bool,
}

/// How a body ends (RFC 9112, section 6.3).
enum Body {
    Length(usize),
    Chunks,
    Rest,
}

impl Head {
    fn of(response: &Response<'_, '_>) -> io::Result<Self> {
        let find = |name: &str| {
            let header = response.headers.iter().find(|it| it.name.eq_ignore_ascii_case(name));
            header.and_then(|header| str::from_utf8(header.value).ok())
        };
        let has = |name, word| find(name).is_some_and(|value| has_word(value, word));
        let body = match find("content-length") {
            _ if has("transfer-encoding", "chunked") => Body::Chunks,
            Some(length) => Body::Length(length.trim().parse().map_err(invalid)?),
            None => Body::Rest,
        };
        // Its other form, a date, is left to the usual pauses.
        let retry_after = find("retry-after").and_then(|value| value.trim().parse().ok());
        Ok(Self {
            status: response.code.unwrap_or(0),
            body,
            retry_after: retry_after.map(Duration::from_secs),
            closes: has("connection", "close") || response.version == Some(0),
        })
    }

    /// Returns the head of an answer whose headers are too long. Its status counts: records that
    /// were accepted must not be sent again.
    fn of_status(code: Option<u16>) -> io::Result<Self> {
        let status = code.filter(|code| *code >= 200);
        let status = status.ok_or_else(|| invalid("the head is too long"))?;
        Ok(Self { status, body: Body::Length(0), retry_after: None, closes: true })
    }
}

/// Returns whether a header's list has this word.
fn has_word(list: &str, word: &str) -> bool {
    list.split(',').any(|item| item.trim().eq_ignore_ascii_case(word))
}

fn invalid(error: impl Into<Box<dyn core::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::net::TcpListener;
    use std::thread::{self, JoinHandle};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn client(listener: &TcpListener, timeout: Duration) -> Client {
        let port = listener.local_addr().unwrap().port();
        let server = Server {
            host: "127.0.0.1".to_owned(),
            port,
            #[cfg(feature = "otlp-tls")]
            tls: None,
        };
        let head = b"POST / HTTP/1.1\r\nhost: test\r\n".to_vec();
        Client { server, head, timeout, connection: Idle::none() }
    }

    /// Answers requests: on each connection with these texts, one after another.
    fn serve(connections: Vec<Vec<&'static str>>) -> (Client, JoinHandle<Vec<Vec<u8>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = client(&listener, LONG);
        let server = thread::spawn(move || {
            let mut bodies = Vec::new();
            for answers in connections {
                let mut stream = BufReader::new(listener.accept().unwrap().0);
                for answer in answers {
                    let mut length = 0;
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
                    bodies.push(body);
                    stream.get_mut().write_all(answer.as_bytes()).unwrap();
                }
            }
            bodies
        });
        (client, server)
    }

    fn answer(status: u16, body: &[u8]) -> Answer {
        Answer { status, retry_after: None, body: body.to_owned() }
    }

    #[test]
    fn a_connection_serves_many_requests_in_all_forms_of_an_answer() {
        let (mut client, server) = serve(vec![vec![
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\nretry-after: 7\r\n\
             content-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
            "HTTP/1.1 204 None\r\n\r\n",
            "HTTP/1.0 200 OK\r\n\r\nuntil the end",
        ]]);
        assert_eq!(client.post(b"first").unwrap(), answer(200, b"ab"));
        let busy = Answer { retry_after: Some(Duration::from_secs(7)), ..answer(429, b"") };
        assert_eq!(client.post(b"").unwrap(), busy);
        assert_eq!(client.post(b"third").unwrap(), answer(400, b"abcde"));
        assert_eq!(client.post(b"fourth").unwrap(), answer(204, b""));
        assert_eq!(client.post(b"fifth").unwrap(), answer(200, b"until the end"));
        assert!(!client.connection.is_some(), "the server closed it");
        let bodies: [&[u8]; 5] = [b"first", b"", b"third", b"fourth", b"fifth"];
        assert_eq!(server.join().unwrap(), bodies);
    }

    #[test]
    fn a_connection_that_the_server_closed_is_replaced() {
        let ok = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        let closes = "HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 0\r\n\r\n";
        let (mut client, server) = serve(vec![vec![ok], vec![closes], vec![ok]]);
        for body in [b"1", b"2", b"3"] {
            assert_eq!(client.post(body).unwrap(), answer(200, b""));
        }
        assert_eq!(server.join().unwrap(), [b"1", b"2", b"3"]);
    }

    #[test]
    fn a_connection_with_an_answer_that_nobody_asked_for_is_replaced() {
        let ok = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        let stale = "HTTP/1.1 400 Too late\r\ncontent-length: 0\r\n\r\n";
        let both = format!("{ok}{stale}");
        // The stale answer comes with the right one, or after it.
        for answers in [vec![both.as_str()], vec![ok, stale]] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut client = client(&listener, LONG);
            thread::scope(|scope| {
                let server = scope.spawn(|| {
                    let mut kept = listener.accept().unwrap().0;
                    let _request = kept.read(&mut [0; 1024]).unwrap();
                    for answer in answers {
                        kept.write_all(answer.as_bytes()).unwrap();
                        thread::sleep(Duration::from_millis(20));
                    }
                    kept
                });
                assert_eq!(client.post(b"").unwrap(), answer(200, b""));
                let mut kept = server.join().unwrap();
                let server = scope.spawn(|| {
                    let mut other = listener.accept().unwrap().0;
                    let _request = other.read(&mut [0; 1024]).unwrap();
                    other.write_all(ok.as_bytes()).unwrap();
                });
                let second = client.post(b"");
                // Has the server end, if the request went the wrong way.
                drop(std::net::TcpStream::connect(listener.local_addr().unwrap()));
                assert_eq!(second.unwrap(), answer(200, b""));
                drop(client);
                assert_eq!(kept.read(&mut [0; 1024]).unwrap_or(0), 0, "no second request");
                server.join().unwrap();
            });
        }
    }

    #[test]
    fn a_server_that_tires_of_a_kept_connection_is_asked_again() {
        let ok = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        let late = "HTTP/1.1 408 Late\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let other = "HTTP/1.1 408 Late\r\ncontent-length: 1\r\n\r\nx";
        let (mut client, server) = serve(vec![vec![ok, late], vec![other]]);
        assert_eq!(client.post(b"1").unwrap(), answer(200, b""));
        // The second one is about a connection that was not kept.
        assert_eq!(client.post(b"2").unwrap(), answer(408, b"x"));
        assert_eq!(server.join().unwrap(), [b"1", b"2", b"2"]);
    }

    #[test]
    fn an_answer_counts_by_its_status_if_the_rest_is_too_long() {
        let headers = |count: usize| "x-header: y\r\n".repeat(count);
        let kept = format!("HTTP/1.1 200 OK\r\n{}content-length: 2\r\n\r\nab", headers(200));
        let many = format!("HTTP/1.1 503 Busy\r\n{}content-length: 0\r\n\r\n", headers(300));
        let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(2 * MOST_BYTES));
        let chunk = format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1;{}\r\nb\r\n0\r\n\r\n",
            "x".repeat(64 * MOST_BYTES)
        );
        for (text, status, body, is_kept) in [
            (kept, 200, "ab", true),
            (many, 503, "", false),
            (long, 200, "", false),
            (chunk, 200, "a", false),
        ] {
            let (mut client, server) = serve(vec![vec![text.leak()]]);
            assert_eq!(client.post(b"").unwrap(), answer(status, body.as_bytes()));
            assert_eq!(client.connection.is_some(), is_kept);
            let _broken_pipe = server.join();
        }
        // An interim answer is not the end.
        let interim = format!("HTTP/1.1 100 Continue\r\n{}\r\n", headers(300));
        let (mut client, server) = serve(vec![vec![interim.leak()]]);
        assert_eq!(client.post(b"").unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(client);
        let _broken_pipe = server.join();
    }

    #[test]
    fn the_longest_timeout_is_a_deadline_too() {
        let ok = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        let (mut client, server) = serve(vec![vec![ok]]);
        client.timeout = Duration::MAX;
        assert_eq!(client.post(b"").unwrap(), answer(200, b""));
        server.join().unwrap();
    }

    #[test]
    fn an_answer_that_never_comes_ends_at_the_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = client(&listener, Duration::from_millis(50));
        let error = client.post(b"body").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // Longer than the buffers of both ends, so that sending waits too.
        let error = client.post(&vec![0; 64 * 1024 * 1024]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(listener);
        let error = client.post(b"body").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    /// Other systems may drop what has arrived when a connection is reset.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_answer_before_the_end_of_the_request_counts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = client(&listener, LONG);
        let server = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let _begin = stream.read(&mut [0; 1024]).unwrap();
            let refusal = b"HTTP/1.1 413 Long\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(refusal).unwrap();
            // Dropped with bytes that were not read, the connection is reset.
        });
        // Longer than the buffers of both ends.
        let answered = client.post(&vec![0; 64 * 1024 * 1024]);
        server.join().unwrap();
        assert_eq!(answered.unwrap(), answer(413, b""));
    }

    #[test]
    fn an_answer_that_is_no_http_is_an_error() {
        let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(2 * MOST_BYTES));
        for (text, is_error) in [
            ("SSH-2.0\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", true),
            ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort", true),
            (endless.leak(), false),
        ] {
            let (mut client, server) = serve(vec![vec![text]]);
            let answer = client.post(b"");
            assert_eq!(answer.is_err(), is_error, "{answer:?}");
            assert!(!client.connection.is_some());
            assert!(answer.is_err() || answer.unwrap().body.len() < 2 * MOST_BYTES);
            drop(client);
            let _broken_pipe = server.join();
        }
    }
}
