//! One call after another to a gRPC server, on an HTTP/2 connection that is kept
//! (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>). `h2` implements the
//! protocol, and the calling thread drives it: there is no runtime.

mod drive;
#[cfg(test)]
mod hostile;
mod idle;
mod place;
mod status;

use core::future::poll_fn;
use core::pin::Pin;
use core::task::Poll;
use core::time::Duration;
use std::io::{self, Cursor};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use h2::client::{self, SendRequest};
use http::{HeaderMap, Method, Request, StatusCode, Uri};

use self::drive::{Io, Wire, drive};
use self::idle::Idle;
use self::place::Place;
use crate::advice::Advice;
use crate::exporter;
use crate::rejection::Rejection;
use crate::security::stream::Secure;

/// The most bytes of an answer. Answers of collectors are short.
const MOST_BYTES: usize = 64 * 1024;
/// The most bytes of the headers before the body, and of the headers after the body. The default of
/// `h2` is 16 MiB.
const MOST_HEADER_BYTES: u32 = 64 * 1024;
/// The most interim answers, such as "103 Early Hints", before the answer.
const MOST_INTERIM: usize = 8;

/// The server, and the fixed part of each call. Connects at the first call.
pub(crate) struct Client {
    pub(crate) server: Arc<Server>,
    /// The scheme, the host and the method.
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) compresses: bool,
    /// The timeout for a call, including its answer.
    pub(crate) timeout: Duration,
    pub(crate) advice: Advice,
}

/// The server, with the connection of the last call, which other clients may have made.
pub(crate) struct Server {
    place: Place,
    /// The connection, if that call has not failed.
    idle: Mutex<Idle<Connection>>,
}

impl Server {
    pub(crate) fn new(host: String, port: u16, secure: Option<Secure>) -> Arc<Self> {
        let place = Place { host, port, secure };
        Arc::new(Self { place, idle: Mutex::new(Idle::none()) })
    }

    fn idle(&self) -> MutexGuard<'_, Idle<Connection>> {
        // No code that can panic runs under the lock, so it is never poisoned.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer: the status of HTTP, the headers with those that follow the body, and the body.
struct Answer {
    http: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Client {
    fn answer(&mut self, body: Vec<u8>) -> io::Result<Answer> {
        let deadline = Instant::now() + self.timeout;
        let kept = self.server.idle().take();
        if let Some(kept) = kept {
            let mut has_answered = false;
            let answer = self.exchange(kept, body.clone(), deadline, &mut has_answered);
            // A server that shuts down closes the kept connection, perhaps while the call is on its
            // way. Try once more on a new one, unless an answer has begun.
            if answer.is_ok() || has_answered || Instant::now() >= deadline {
                return answer;
            }
        }
        let connection = Connection::open(&self.server.place, deadline)?;
        self.exchange(connection, body, deadline, &mut false)
    }

    /// Keeps the connection if the call succeeds.
    fn exchange(
        &mut self,
        mut connection: Connection,
        body: Vec<u8>,
        deadline: Instant,
        has_answered: &mut bool,
    ) -> io::Result<Answer> {
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let answer = connection.exchange(request, body, deadline, has_answered)?;
        self.server.idle().keep(connection);
        Ok(answer)
    }
}

impl exporter::Client for Client {
    fn send(&mut self, message: &[u8]) -> Result<(), Rejection> {
        match self.answer(framed(message, self.compresses)) {
            Ok(answer) => {
                self.advice.is_known.set(true);
                status::judge(answer.http, &answer.headers, &answer.body, &self.advice)
            }
            Err(error) => Err(Rejection::failed(self.advice.of_error(&error))),
        }
    }
}

/// Returns a message, preceded by the flag for compression and the length.
fn framed(message: &[u8], is_compressed: bool) -> Vec<u8> {
    let mut framed = Vec::with_capacity(message.len() + 5);
    framed.push(u8::from(is_compressed));
    // No sink's buffer reaches 4 GiB, so the length always fits.
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(message);
    framed
}

struct Connection {
    sender: SendRequest<Cursor<Vec<u8>>>,
    driven: client::Connection<Io, Cursor<Vec<u8>>>,
    wire: Wire,
}

impl Connection {
    fn open(server: &Place, deadline: Instant) -> io::Result<Self> {
        let mut stream = server.open(deadline)?;
        stream.socket().reads_wait = false;
        let wire = Wire::new(stream);
        let mut builder = client::Builder::new();
        builder.enable_push(false).max_header_list_size(MOST_HEADER_BYTES);
        let handshake = builder.handshake(Io::of(&wire));
        let (sender, driven) = drive(handshake, None, &wire, deadline)?.map_err(explained)?;
        Ok(Self { sender, driven, wire })
    }

    /// Makes a call, and sets `has_answered` once the answer has begun.
    fn exchange(
        &mut self,
        request: Request<()>,
        body: Vec<u8>,
        deadline: Instant,
        has_answered: &mut bool,
    ) -> io::Result<Answer> {
        self.wire.set_deadline(deadline);
        let sender = self.sender.clone();
        let call = async {
            let mut sender = sender.ready().await?;
            let (mut response, mut stream) = sender.send_request(request, false)?;
            // This does not wait: `h2` keeps the body until the server's window has room.
            stream.send_data(Cursor::new(body), true)?;
            let mut interim = 0;
            let answer = poll_fn(|context| {
                while let Poll::Ready(Some(answer)) = response.poll_informational(context) {
                    answer?;
                    interim += 1;
                    if interim > MOST_INTERIM {
                        return Poll::Ready(Err(h2::Reason::ENHANCE_YOUR_CALM.into()));
                    }
                }
                Pin::new(&mut response).poll(context)
            });
            let (head, mut stream) = answer.await?.into_parts();
            *has_answered = true;
            let mut body = Vec::new();
            while let Some(part) = poll_fn(|context| stream.poll_data(context)).await {
                let part = part?;
                stream.flow_control().release_capacity(part.len())?;
                let room = MOST_BYTES - body.len();
                body.extend_from_slice(&part[..part.len().min(room)]);
            }
            let mut headers = head.headers;
            if let Some(trailers) = poll_fn(|context| stream.poll_trailers(context)).await? {
                headers.extend(trailers);
            }
            Ok(Answer { http: head.status, headers, body })
        };
        drive(call, Some(&mut self.driven), &self.wire, deadline)?.map_err(explained)
    }
}

/// Returns an error of HTTP/2 as one of the network.
fn explained(error: h2::Error) -> io::Error {
    if error.is_io() {
        return error.into_io().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
    }
    io::Error::other(format!("HTTP/2: {error}"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::thread::{self, JoinHandle};

    use super::*;
    use crate::exporter::Client as _;

    const LONG: Duration = Duration::from_secs(60);

    /// Returns a client with that timeout. Its server sends its settings, and then whatever `send`
    /// writes.
    fn serve(
        timeout: Duration,
        send: impl FnOnce(&mut TcpStream) + Send + 'static,
    ) -> (Client, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = Client {
            server: Server::new(
                "127.0.0.1".to_owned(),
                listener.local_addr().unwrap().port(),
                None,
            ),
            uri: "http://127.0.0.1/service/method".parse().unwrap(),
            headers: HeaderMap::new(),
            compresses: false,
            timeout,
            advice: Advice::of_test(true),
        };
        let server = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let mut other = stream.try_clone().unwrap();
            let reader =
                thread::spawn(move || while other.read(&mut [0; 1024]).is_ok_and(|it| it > 0) {});
            stream.write_all(&frame(4, 0, 0, &[])).unwrap();
            send(&mut stream);
            drop(stream.shutdown(Shutdown::Both));
            reader.join().unwrap();
        });
        (client, server)
    }

    /// Calls, and returns the error and the most bytes that were allocated at once.
    fn call(client: &mut Client) -> (io::Error, u64) {
        let mut rejection = None;
        let allocated = allocation_counter::measure(|| rejection = client.send(b"").err());
        let Some(Rejection::Later { error, after: None }) = rejection else { panic!("an answer") };
        (error, allocated.bytes_max)
    }

    /// Returns an HTTP/2 frame (RFC 9113, section 4.1).
    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
    }

    /// Returns a header as a literal that enters no table (RFC 7541, section 6.2.2).
    fn header(name: &str, value: &str) -> Vec<u8> {
        let mut header = vec![0, u8::try_from(name.len()).unwrap()];
        header.extend_from_slice(name.as_bytes());
        // A length of 127 or more continues in groups of seven bits.
        header.push(0x7f);
        let mut rest = value.len() - 0x7f;
        while rest >= 0x80 {
            header.push(u8::try_from(rest % 0x80).unwrap() | 0x80);
            rest /= 0x80;
        }
        header.push(u8::try_from(rest).unwrap());
        header.extend_from_slice(value.as_bytes());
        header
    }

    #[test]
    fn headers_without_end_are_not_kept() {
        const FRAME: usize = 16 * 1024;
        for length in [1_000, 60_000, 2_000_000] {
            let (mut client, server) = serve(LONG, move |stream| {
                // 200 OK, and headers of 16 MiB.
                let mut block = vec![0x88];
                for number in 0..16 * 1024 * 1024 / length {
                    block.extend(header(&format!("h-{number}"), &"x".repeat(length)));
                }
                let mut kind = 1;
                for part in block.chunks(FRAME) {
                    let is_last = part.len() < FRAME;
                    if stream.write_all(&frame(kind, u8::from(is_last) * 4, 1, part)).is_err() {
                        break;
                    }
                    kind = 9;
                }
            });
            let (_, allocated) = call(&mut client);
            assert!(allocated < 1024 * 1024, "{length}: {allocated}");
            drop(client);
            server.join().unwrap();
        }
    }

    #[test]
    fn interim_answers_without_end_are_not_kept() {
        let (mut client, server) = serve(LONG, |stream| {
            // Status 103 as a literal (its name is entry 8 of HPACK's static table), and a long
            // header.
            let mut block = vec![0x08, 3, b'1', b'0', b'3'];
            block.extend(header("link", &"x".repeat(8_000)));
            let hints = frame(1, 4, 1, &block);
            while stream.write_all(&hints).is_ok() {}
        });
        let (error, allocated) = call(&mut client);
        assert!(error.to_string().contains("HTTP/2"), "{error}");
        assert!(allocated < 1024 * 1024, "{allocated}");
        drop(client);
        server.join().unwrap();
    }

    #[test]
    fn frames_without_end_end_at_the_timeout() {
        let (mut client, server) = serve(Duration::from_millis(200), |stream| {
            // Frames of an unknown kind, until the test gives up.
            let frames = frame(0x42, 0, 0, &[]).repeat(1000);
            let end = Instant::now() + Duration::from_secs(20);
            while Instant::now() < end && stream.write_all(&frames).is_ok() {}
        });
        let (error, _) = call(&mut client);
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        drop(client);
        server.join().unwrap();
    }
}
