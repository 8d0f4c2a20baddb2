//! Servers that answer in every wrong way: each call ends, only the right answer accepts, and the
//! next call is served.

use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use http::HeaderMap;

use super::{Client, Server};
use crate::advice::Advice;
use crate::exporter::Client as _;
use crate::rejection::Rejection;

/// The timeout for a server that says nothing. The answers of the other servers end the call.
const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(60);

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const END_OF_STREAM: u8 = 1;
const END_OF_HEADERS: u8 = 4;

/// Returns a frame (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Returns a frame of headers as literals that enter no table (RFC 7541, section 6.2.2).
fn headers(flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend_from_slice(text.as_bytes());
        }
    }
    frame(HEADERS, END_OF_HEADERS | flags, 1, &block)
}

/// Returns the headers of an answer with this status of HTTP.
fn head(http: &str) -> Vec<u8> {
    headers(0, &[(":status", http), ("content-type", "application/grpc")])
}

fn trailers(grpc: &str) -> Vec<u8> {
    headers(END_OF_STREAM, &[("grpc-status", grpc), ("grpc-message", "a reason")])
}

fn right() -> Vec<u8> {
    [head("200"), frame(DATA, 0, 1, &[0; 5]), trailers("0")].concat()
}

/// Reads frames until the request has ended. Returns `None` at the end of the connection.
fn request(stream: &mut TcpStream) -> Option<()> {
    stream.read_exact(&mut [0; 24]).ok()?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        stream.read_exact(&mut vec![0; length as usize]).ok()?;
        if [DATA, HEADERS].contains(&head[3]) && head[4] & END_OF_STREAM != 0 {
            return Some(());
        }
    }
}

/// Calls a server that answers the first request with these bytes, and then ends the connection or
/// keeps it. Returns the result of the call. The server answers the next request correctly.
fn call(answer: Vec<u8>, closes: bool, timeout: Duration) -> Result<(), Rejection> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut answer = Some(answer);
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.take();
            thread::spawn(move || {
                let mut stream = stream;
                let _the_client_has_gone = stream.write_all(&frame(SETTINGS, 0, 0, &[]));
                if request(&mut stream).is_some() {
                    let closes = closes && answer.is_some();
                    let _the_client_has_gone = stream.write_all(&answer.unwrap_or_else(right));
                    if closes {
                        drop(stream.shutdown(Shutdown::Write));
                    }
                    // Keep the connection until the client closes it: closing it here could discard
                    // the answer.
                    while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
                }
            });
        }
    });
    let mut client = Client {
        server: Server::new("127.0.0.1".to_owned(), port, None),
        uri: "http://127.0.0.1/service/method".parse().unwrap(),
        headers: HeaderMap::new(),
        compresses: false,
        timeout,
        advice: Advice::of_test(true),
    };
    let first = client.send(b"items");
    // Drop the kept connection, on which this server would not answer again.
    drop(client.server.idle().take());
    client.timeout = LONG;
    client.send(b"items").unwrap();
    first
}

#[test]
fn a_status_accepts_or_says_why_not() {
    assert!(call(right(), false, LONG).is_ok());
    for http in ["204", "302", "400", "401", "404", "408", "413", "429", "500", "502", "503", "504"]
    {
        for answer in [
            headers(END_OF_STREAM, &[(":status", http)]),
            [head(http), frame(DATA, END_OF_STREAM, 1, b"<html>")].concat(),
            [head(http), trailers("13")].concat(),
        ] {
            assert!(call(answer, false, LONG).is_err(), "{http}");
        }
    }
    for grpc in (1..18)
        .map(|code| code.to_string())
        .chain(["-1", "x", "", "99999999999"].map(str::to_owned))
    {
        for before in [head("200"), [head("200"), frame(DATA, 0, 1, &[0; 5])].concat()] {
            let answer = [before, trailers(&grpc)].concat();
            assert!(call(answer, false, LONG).is_err(), "{grpc}");
        }
        // An answer of trailers only, without a body.
        let alone = [(":status", "200"), ("grpc-status", &*grpc)];
        assert!(call(headers(END_OF_STREAM, &alone), false, LONG).is_err(), "{grpc}");
    }
}

#[test]
fn an_answer_that_breaks_off_or_is_none_is_an_error() {
    let body = |bytes: &[u8]| [head("200"), frame(DATA, 0, 1, bytes)].concat();
    let with = |mut first: Vec<u8>, rest: Vec<u8>| {
        first.extend(rest);
        first
    };
    let reset = |reason: u8| frame(RESET, 0, 1, &[0, 0, 0, reason]);
    let go_away = |last: u8, reason: u8| frame(GO_AWAY, 0, 0, &[0, 0, 0, last, 0, 0, 0, reason]);
    let ended = [head("200"), frame(DATA, END_OF_STREAM, 1, &[0; 5])].concat();
    let wrong = [
        Vec::new(),
        b"HTTP/1.1 400 Bad\r\n\r\n".to_vec(),
        vec![0xff; 64],
        head("200"),
        head("200")[..5].to_vec(),
        body(&[0; 5]),
        // The stream ends without gRPC's status.
        ended,
        with(head("200"), reset(0)),
        with(head("200"), reset(8)),
        reset(7),
        reset(11),
        go_away(0, 0),
        go_away(1, 11),
        with(body(&[0; 5]), go_away(1, 2)),
        // Frames of another stream, of no stream, and longer than a frame may be.
        frame(HEADERS, END_OF_HEADERS, 3, &[0x88]),
        frame(DATA, 0, 0, b"abc"),
        vec![0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1],
        frame(HEADERS, END_OF_HEADERS, 1, &[0xff; 20]),
        trailers("0"),
    ];
    for answer in wrong {
        let shown = format!("{:?}", &answer[..answer.len().min(40)]);
        let result = call(answer, true, LONG);
        assert!(
            matches!(result, Err(Rejection::Later { .. } | Rejection::Never { .. })),
            "{shown}"
        );
    }
}

#[test]
fn what_is_right_may_come_among_other_frames() {
    for answer in [
        [frame(PING, 0, 0, &[0; 8]), right()].concat(),
        [frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]), right()].concat(),
        [frame(0x42, 0, 0, b"unknown"), right()].concat(),
        [head("103"), right()].concat(),
        [right(), frame(GO_AWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])].concat(),
        [
            head("200"),
            frame(DATA, 0, 1, &[]).repeat(100),
            frame(DATA, 0, 1, &[0; 5]),
            trailers("0"),
        ]
        .concat(),
        // An answer of trailers only.
        headers(END_OF_STREAM, &[(":status", "200"), ("grpc-status", "0")]),
    ] {
        let shown = format!("{:?}", &answer[..answer.len().min(40)]);
        for closes in [false, true] {
            assert!(call(answer.clone(), closes, LONG).is_ok(), "{shown}");
        }
    }
}

#[test]
fn silence_ends_at_the_timeout() {
    for answer in [Vec::new(), head("200"), head("200")[..12].to_vec(), frame(PING, 0, 0, &[0; 8])]
    {
        let Err(Rejection::Later { error, after: None }) = call(answer, false, SHORT) else {
            panic!("an answer")
        };
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut, "{error}");
    }
}
