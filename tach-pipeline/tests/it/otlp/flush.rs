//! A flush waits for a collector that accepts within its time.

use core::time::Duration;
use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

use tach_pipeline::{Guard, Otlp};
use test_support::receiver::{OK, Requests, request, serve_answers, serve_by};

use super::faults::{KINDS, Kind, SHORT, answer, counts};
use super::wait_until;
use crate::support::LONG;

/// How long each collector does not accept.
const OUTAGE: Duration = Duration::from_millis(500);

/// Serves with the answer `busy` for a while, and accepts afterwards.
fn busy_at_first(busy: Vec<u8>) -> (String, Requests) {
    let start = Instant::now();
    serve_by(move |_, _| if start.elapsed() < OUTAGE { busy.clone() } else { OK.to_vec() })
}

/// Returns an address at which nobody listens until the outage is over.
fn refused_at_first() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    thread::spawn(move || {
        thread::sleep(OUTAGE);
        for stream in TcpListener::bind(address).unwrap().incoming().map_while(Result::ok) {
            accept_all(&mut BufReader::new(stream));
        }
    });
    format!("http://{address}")
}

/// Serves one request, then ends as a collector that is restarted does.
fn restarted() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        request(&mut stream).unwrap();
        stream.get_mut().write_all(OK).unwrap();
        drop((listener, stream));
        thread::sleep(OUTAGE);
        let listener = loop {
            match TcpListener::bind(address) {
                Ok(listener) => break listener,
                Err(_) => thread::sleep(SHORT),
            }
        };
        accept_all(&mut BufReader::new(listener.accept().unwrap().0));
    });
    format!("http://{address}")
}

fn accept_all(stream: &mut BufReader<TcpStream>) {
    while request(stream).is_some() && stream.get_mut().write_all(OK).is_ok() {}
}

fn slow() -> String {
    let by = |_: &str, _: &[u8]| {
        thread::sleep(OUTAGE);
        OK.to_vec()
    };
    serve_by(by).0
}

fn build(kind: Kind, endpoint: &str) -> Guard {
    kind.build_to_flush(Otlp::new().endpoint(endpoint).max_delay(LONG), LONG).0
}

#[test]
fn a_flush_delivers_to_a_collector_that_accepts_in_time() {
    type Serve = fn() -> String;
    let collectors: [(&str, Serve); 6] = [
        ("503", || busy_at_first(answer("503 Busy", b"")).0),
        ("429", || busy_at_first(answer("429 Slow\r\nretry-after: 1", b"")).0),
        ("zero", || busy_at_first(answer("429 Slow\r\nretry-after: 0", b"")).0),
        ("refused", refused_at_first),
        ("slow", slow),
        ("restarted", restarted),
    ];
    thread::scope(|scope| {
        for (name, serve) in collectors {
            for (kind, is_flush) in KINDS.into_iter().flat_map(|it| [(it, true), (it, false)]) {
                scope.spawn(move || {
                    let guard = build(kind, &serve());
                    if name == "restarted" {
                        kind.log(guard.pipeline(), ["before"]);
                        guard.pipeline().flush(LONG).unwrap();
                    }
                    kind.log(guard.pipeline(), ["one", "two"]);
                    let clone = guard.pipeline().clone();
                    if is_flush {
                        guard.pipeline().flush(LONG).unwrap();
                        core::mem::forget(guard);
                    } else {
                        drop(guard);
                    }
                    let sink = counts(&clone);
                    let written = if name == "restarted" { 3 } else { 2 };
                    assert_eq!((sink.written(), sink.dropped()), (written, 0), "{name} {kind:?}");
                });
            }
        }
    });
}

/// The collector is tried until shortly before the end, however long the pauses have become.
#[test]
fn the_last_try_of_a_flush_is_near_its_end() {
    let timeout = Duration::from_secs(4);
    let start = Instant::now();
    let (endpoint, requests) = serve_by(move |_, _| {
        let accepts = start.elapsed() > timeout * 4 / 5;
        if accepts { OK.to_vec() } else { answer("503 Busy", b"") }
    });
    let guard = build(Kind::Records, &endpoint);
    Kind::Records.log(guard.pipeline(), ["late"]);
    guard.pipeline().flush(timeout.saturating_sub(start.elapsed())).unwrap();
    let tries = requests.try_iter().count();
    assert!((4..40).contains(&tries), "{tries}");
}

#[test]
fn a_flush_in_vain_takes_its_time_and_names_the_reason() {
    let (endpoint, requests) = serve_answers(vec![answer("503 Busy", b"come later")]);
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let (guard, _) = Kind::Records.build(otlp);
    Kind::Records.log(guard.pipeline(), ["never"]);
    let (start, timeout) = (Instant::now(), 10 * SHORT);
    let error = guard.pipeline().flush(timeout).unwrap_err();
    assert!(error.is_timeout() && start.elapsed() >= timeout);
    assert!(error.to_string().contains("HTTP 503: come later"), "{error}");
    // Nobody waits any more, so the collector has its pauses.
    let (start, tries) = (Instant::now(), requests.try_iter().count());
    thread::sleep(10 * SHORT);
    let later = requests.try_iter().count();
    // The first pause takes 250 ms at least. A request may be on its way when the flush ends.
    let most = 1 + start.elapsed().as_millis() / 250;
    assert!(later as u128 <= most, "{later} after {tries} tries");
}

/// What a collector refuses for good is not waited for, and not forgotten while other events wait.
#[test]
fn a_flush_ends_when_the_last_event_is_delivered_or_refused() {
    for kind in KINDS {
        let (endpoint, _requests) = serve_answers(vec![
            answer("503 Busy", b""),
            answer("401 Who", b"no key"),
            answer("503 Busy", b""),
            OK.to_vec(),
        ]);
        let guard = build(kind, &endpoint);
        kind.log(guard.pipeline(), ["one", "two", "three"]);
        let error = guard.pipeline().flush(LONG).unwrap_err();
        assert!(error.is_sink() && error.to_string().contains("HTTP 401: no key"), "{error}");
        let sink = counts(guard.pipeline());
        assert_eq!((sink.written() + sink.dropped(), sink.waiting()), (3, 0), "{kind:?}");
        guard.pipeline().flush(LONG).unwrap();
    }
}

/// A later flush is done by the same try.
#[test]
fn several_callers_wait_for_one_collector() {
    let (accept, accepts) = channel::<()>();
    let mut is_up = false;
    let (endpoint, _requests) = serve_by(move |_, _| {
        is_up |= accepts.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected);
        if is_up { OK.to_vec() } else { answer("503 Busy", b"") }
    });
    let guard = build(Kind::Records, &endpoint);
    thread::scope(|scope| {
        let waits = [10 * SHORT, LONG, LONG].map(|timeout| {
            Kind::Records.log(guard.pipeline(), ["once"]);
            let guard = &guard;
            scope.spawn(move || guard.pipeline().flush(timeout))
        });
        wait_until(|| waits[0].is_finished());
        assert!(waits.iter().skip(1).all(|it| !it.is_finished()));
        drop(accept);
        let done = waits.map(|wait| wait.join().unwrap().is_ok());
        assert_eq!(done, [false, true, true]);
    });
    assert_eq!(counts(guard.pipeline()).written(), 3);
}
