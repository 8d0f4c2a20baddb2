//! Checks answers of a collector: whatever they contain, the request ends, and the text that is
//! kept of an answer is short and contains no secret.

use core::mem;
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use tach_otlp::{Otlp, Protocol, Rejection, Signal};

/// The secret of each request, which the inputs contain too.
const TOKEN: &str = "canary-token";

/// The bytes of the next answer. No channel, because a client that gives up early leaves its answer
/// unread, which would then answer another request. Here the next test replaces it.
type Answer = Arc<Mutex<Vec<u8>>>;

/// A server that answers a request with the next bytes.
struct Server {
    address: String,
    answer: Answer,
}

impl Server {
    fn new(first: &'static [u8], read: fn(&mut TcpStream)) -> Mutex<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let answer = Answer::default();
        let next = Arc::clone(&answer);
        thread::spawn(move || serve(&listener, first, read, &next));
        Mutex::new(Self { address, answer })
    }
}

fn serve(listener: &TcpListener, first: &[u8], read: fn(&mut TcpStream), answer: &Answer) {
    for mut stream in listener.incoming().map_while(Result::ok) {
        let _the_client_has_gone = stream.write_all(first);
        read(&mut stream);
        // Take the bytes: a second try of the same request gets an empty answer.
        let answer = mem::take(&mut *answer.lock().unwrap_or_else(PoisonError::into_inner));
        let _the_client_has_gone = stream.write_all(&answer);
        let _the_client_has_gone = stream.shutdown(Shutdown::Write);
        while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
    }
}

/// Reads the head of a request, and its body, which is empty.
fn read_http(stream: &mut TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
    }
}

fn read_grpc(stream: &mut TcpStream) {
    let mut head = [0; 9];
    let _the_client_has_gone = stream.read_exact(&mut [0; 24]);
    while stream.read_exact(&mut head).is_ok() && !(head[3] < 2 && head[4] & 1 != 0) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let _the_client_has_gone = stream.read_exact(&mut vec![0; length as usize]);
    }
}

fn send(server: &Mutex<Server>, protocol: Protocol, answer: Vec<u8>) {
    let server = server.lock().unwrap_or_else(PoisonError::into_inner);
    *server.answer.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    let otlp = Otlp::new()
        .endpoint(format!("http://{}", server.address))
        .protocol(protocol)
        .header("authorization", format!("Bearer {TOKEN}"))
        .timeout(Duration::from_secs(5));
    let mut exporter = otlp.exporter().unwrap();
    let Err(rejection) = exporter.send(Signal::Logs, &[]) else { return };
    let kept = match &rejection {
        Rejection::Later { error, .. } => error.to_string(),
        Rejection::Whole { reason } | Rejection::Never { reason, .. } => reason.clone(),
    };
    assert!(!kept.contains(TOKEN) && !format!("{rejection:?}").contains(TOKEN), "{kept}");
    assert!(kept.chars().count() < 1_000 && !kept.contains('\n'), "{kept}");
}

/// Checks an answer over HTTP, which consists of the whole input.
#[allow(dead_code, reason = "one target has the other protocol")]
pub(crate) fn check_http(input: &[u8]) {
    static SERVER: OnceLock<Mutex<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| Server::new(b"", read_http));
    send(server, Protocol::HttpProtobuf, input.to_vec());
}

/// Checks an answer over gRPC. If the first byte of the input is even, the other bytes are the
/// answer's frames. Otherwise they are the values of headers, each on a line, and the message.
#[allow(dead_code, reason = "one target has the other protocol")]
pub(crate) fn check_grpc(input: &[u8]) {
    static SERVER: OnceLock<Mutex<Server>> = OnceLock::new();
    // The server's settings.
    let server = SERVER.get_or_init(|| Server::new(&[0, 0, 0, 4, 0, 0, 0, 0, 0], read_grpc));
    let Some((kind, rest)) = input.split_first() else { return };
    if kind % 2 == 0 {
        return send(server, Protocol::Grpc, rest.to_vec());
    }
    let mut lines = rest.splitn(4, |byte| *byte == b'\n');
    let mut next = || lines.next().unwrap_or_default();
    let names = ["grpc-status", "grpc-message", "grpc-status-details-bin"];
    let trailers: Vec<_> = names.into_iter().map(|name| field(name, next())).collect();
    let message = next();
    // `:status: 200` of the static table.
    let head = frame(1, 0b100, &[0x88]);
    let data = frame(0, 0, message);
    send(server, Protocol::Grpc, [head, data, frame(1, 0b101, &trailers.concat())].concat());
}

/// Returns a frame of the first stream (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    // A server must not send longer ones.
    let payload = &payload[..payload.len().min(16_384)];
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, 1], payload].concat()
}

/// Returns a header as a literal that enters no table (RFC 7541, section 6.2.2).
fn field(name: &str, value: &[u8]) -> Vec<u8> {
    let value = &value[..value.len().min(5_000)];
    let mut field = vec![0, u8::try_from(name.len()).unwrap()];
    field.extend(name.as_bytes());
    // A length of 127 or more goes on in groups of seven bits.
    match value.len().checked_sub(127) {
        None => field.push(u8::try_from(value.len()).unwrap()),
        Some(rest) => {
            let low = u8::try_from(rest % 128).unwrap() | 128;
            field.extend([127, low, u8::try_from(rest / 128).unwrap()]);
        }
    }
    field.extend(value);
    field
}
