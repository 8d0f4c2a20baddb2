//! A collector of OpenTelemetry that keeps each request.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// An answer that accepts a request.
pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// The paths and the bodies of requests.
pub type Requests = Receiver<(String, Vec<u8>)>;

/// Serves requests, and returns the address.
///
/// # Panics
///
/// If no port is free.
#[must_use]
pub fn serve() -> (String, Requests) {
    serve_answers(vec![OK.to_vec()])
}

/// Serves requests with these answers, the last one for all further ones.
///
/// # Panics
///
/// If no port is free, or there is no answer.
#[must_use]
pub fn serve_answers(answers: Vec<Vec<u8>>) -> (String, Requests) {
    let mut answers = answers.into_iter();
    let mut last = None;
    serve_by(move |_| {
        last = answers.next().or(last.take());
        last.clone().expect("there is an answer")
    })
}

/// Serves requests, one connection after another, with the answers that `answer` returns for a path.
/// The test receives a request before `answer` is called, so `answer` may wait for the test.
///
/// # Panics
///
/// If no port is free.
#[must_use]
pub fn serve_by(mut answer: impl FnMut(&str) -> Vec<u8> + Send + 'static) -> (String, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("the listener has an address");
    let (sender, requests) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = BufReader::new(stream);
            while let Some((path, body)) = request(&mut stream) {
                let _the_test_has_ended = sender.send((path.clone(), body));
                if stream.get_mut().write_all(&answer(&path)).is_err() {
                    break;
                }
            }
        }
    });
    (format!("http://{address}"), requests)
}

/// Reads a request and returns its path and body, or `None` at the end of the connection.
#[must_use]
pub fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut length = 0;
    let mut path = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().ok()?;
        } else if let Some(rest) = line.strip_prefix("POST ") {
            rest.split(' ').next()?.clone_into(&mut path);
        } else if line == "\r\n" {
            let mut body = vec![0; length];
            return stream.read_exact(&mut body).ok().map(|()| (path, body));
        }
    }
}
