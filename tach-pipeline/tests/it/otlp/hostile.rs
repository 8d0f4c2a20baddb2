//! Collectors that answer in every wrong way: nothing is lost uncounted, and no span waits long for
//! another one.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use tach_pipeline::Otlp;
use test_support::receiver::{OK, request};

use super::faults::{Kind, SHORT, counts};
use super::received::spans_in;
use super::wait_until;
use crate::support::LONG;

const TIMEOUT: Duration = Duration::from_secs(1);

/// What follows an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The next request.
    Next,
    /// The end of the connection.
    End,
    /// Nothing, for longer than the timeout.
    Silence,
}

#[derive(Clone)]
struct Answer {
    bytes: Vec<u8>,
    then: Then,
    /// The pause after each byte.
    pace: Duration,
}

/// Prints only the beginning of the answer, as a text.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beginning = &self.bytes[..self.bytes.len().min(120)];
        let beginning = String::from_utf8_lossy(beginning);
        f.debug_tuple("Answer").field(&beginning).field(&self.then).field(&self.pace).finish()
    }
}

impl Answer {
    fn new(text: &str, then: Then) -> Self {
        Self { bytes: text.as_bytes().to_vec(), then, pace: Duration::ZERO }
    }

    /// Returns whether the answer, or the end of the connection, comes without a timeout.
    fn is_in_time(&self) -> bool {
        self.then != Then::Silence && self.pace < TIMEOUT
    }
}

/// The answers with a status, framed in every way.
fn framed(status: u16) -> Vec<Answer> {
    let head = format!("HTTP/1.1 {status} Some");
    let whole = [
        "content-length: 0\r\n\r\n",
        "content-length: 0, 0\r\n\r\n",
        "content-length: 3\r\n\r\nabc",
        "content-length: 2\r\ncontent-length: 3\r\n\r\nabc",
        "transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 7\r\n\r\n0\r\n\r\n",
        "location: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        "retry-after: 0\r\ncontent-length: 0\r\n\r\n",
        "content-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc",
        "content-length: 9223372036854775808\r\n\r\n",
        "content-length: -1\r\n\r\n",
        "content-length: 100\r\n\r\nshort",
        "transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc",
        "transfer-encoding: chunked\r\n\r\n3\r\nab",
        "\r\nuntil the end",
        "x: y",
        "",
    ];
    let answers = whole.iter().flat_map(|rest| {
        let text = format!("{head}\r\n{rest}");
        let keeps = rest.starts_with("content-length: 0\r\n");
        let kept = keeps.then(|| Answer::new(&text, Then::Next));
        kept.into_iter().chain([Answer::new(&text, Then::End)])
    });
    answers.collect()
}

/// Texts that are no answers, and answers that are slow.
fn others() -> Vec<Answer> {
    let ok = core::str::from_utf8(OK).unwrap();
    let paced = |text: &str, pace| Answer { pace, ..Answer::new(text, Then::Next) };
    vec![
        Answer::new("", Then::End),
        Answer::new("", Then::Silence),
        Answer::new("\r\n\r\n", Then::End),
        Answer::new("SSH-2.0\r\n", Then::End),
        Answer::new("HTTP/2 200\r\n\r\n", Then::End),
        Answer::new("HTTP/1.1 99 Low\r\n\r\n", Then::End),
        Answer::new("HTTP/1.1 1000 High\r\n\r\n", Then::End),
        Answer::new("HTTP/1.1 200", Then::Silence),
        Answer::new("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab", Then::Silence),
        Answer::new(&format!("HTTP/1.1 100 Continue\r\n\r\n{ok}"), Then::Next),
        Answer::new(&"HTTP/1.1 103 Hints\r\nlink: x\r\n\r\n".repeat(1_000), Then::End),
        Answer::new(&format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(1 << 20)), Then::End),
        Answer::new(&format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(1 << 20)), Then::End),
        // More than one answer to a request.
        Answer::new(&ok.repeat(3), Then::Next),
        // The first answer comes in time, and the second does not.
        paced(ok, Duration::from_millis(2)),
        paced(ok, TIMEOUT),
    ]
}

/// Serves several connections at the same time. Requests for which `answer` returns none are
/// accepted. Also returns the count of the spans in these requests.
fn serve(
    answer: impl Fn(&[u8]) -> Option<Answer> + Send + Sync + 'static,
) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (accepted, answer) = (Arc::<AtomicU64>::default(), Arc::new(answer));
    let of_collector = Arc::clone(&accepted);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (accepted, answer) = (Arc::clone(&of_collector), Arc::clone(&answer));
            thread::spawn(move || serve_one(stream, &accepted, &*answer));
        }
    });
    (endpoint, accepted)
}

fn serve_one(stream: TcpStream, accepted: &AtomicU64, answer: &dyn Fn(&[u8]) -> Option<Answer>) {
    let mut stream = BufReader::new(stream);
    while let Some((_, body)) = request(&mut stream) {
        let Some(Answer { bytes, then, pace }) = answer(&body) else {
            accepted.fetch_add(spans_in(&body).len() as u64, Ordering::Relaxed);
            if stream.get_mut().write_all(OK).is_err() {
                return;
            }
            continue;
        };
        let parts = bytes.chunks(if pace.is_zero() { bytes.len().max(1) } else { 1 });
        for part in parts {
            if stream.get_mut().write_all(part).is_err() {
                return;
            }
            thread::sleep(pace);
        }
        match then {
            Then::Next => {}
            Then::End => return,
            // Wait until the client gives up.
            Then::Silence => drop(stream.read(&mut [0])),
        }
    }
}

fn has_poison(body: &[u8]) -> bool {
    body.windows(6).any(|part| part == b"poison")
}

/// Sends spans to a collector that answers requests with one of them in that way. The others
/// arrive, with or without traffic after them, and each span is accepted, refused, or still waits.
fn check(answer: &Answer, has_traffic: bool) {
    let wrong = answer.clone();
    let (endpoint, accepted) = serve(move |body| has_poison(body).then(|| wrong.clone()));
    let timeout = if answer.is_in_time() { LONG } else { TIMEOUT };
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(SHORT).timeout(timeout).retry_for(LONG);
    let (guard, _) = Kind::Spans.build(otlp);
    let mut logged = 0;
    let mut log = |name: &str, count: usize| {
        Kind::Spans.log(guard.pipeline(), core::iter::repeat_n(name, count));
        logged += count as u64;
    };
    log("good", 50);
    log("poison", 1);
    log("good", 50);
    let settled = || counts(guard.pipeline()).written() + counts(guard.pipeline()).dropped();
    // Further spans show that the collector works. Otherwise parts of the request do.
    wait_until(|| {
        if has_traffic {
            log("good", 1);
        }
        settled() >= 100
    });
    // Only the span that fails may still wait. If a span were lost without being counted, this
    // would time out.
    wait_until(|| {
        let sink = counts(guard.pipeline());
        settled() + 1 >= logged && sink.written() + sink.dropped() + sink.waiting() == logged
    });
    let sink = counts(guard.pipeline());
    if answer.is_in_time() {
        // No span that was accepted counts as dropped. Others may count as written: the wrong
        // answer may be one that accepts.
        let accepted = accepted.load(Ordering::Relaxed);
        assert!(accepted <= sink.written() + sink.waiting(), "{accepted} {sink:?} {answer:?}");
        // Halving finds one of a hundred, or of some more, by twice seven requests.
        assert!(sink.failures() <= 25, "{has_traffic} {sink:?} {answer:?}");
    }
}

/// Checks many answers at once, since most checks wait.
fn check_all(answers: Vec<(Answer, bool)>) {
    let answers = Mutex::new(answers);
    let next = || answers.lock().unwrap().pop();
    thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                while let Some((answer, has_traffic)) = next() {
                    check(&answer, has_traffic);
                }
            });
        }
    });
}

#[test]
fn no_answer_to_one_span_costs_the_others() {
    let statuses = [
        101, 200, 204, 206, 301, 304, 307, 308, 400, 401, 404, 408, 413, 429, 500, 501, 502, 503,
        504, 599, 600, 999,
    ];
    let with_traffic = statuses.into_iter().flat_map(framed).map(|answer| (answer, true));
    // The framings are the same for each status that means later.
    let without = [429, 503].into_iter().flat_map(framed).map(|answer| (answer, false));
    check_all(with_traffic.chain(without).collect());
}

#[test]
fn no_silence_and_no_noise_about_one_span_costs_the_others() {
    let both = |answer: Answer| [(answer.clone(), true), (answer, false)];
    check_all(others().into_iter().flat_map(both).collect());
}
