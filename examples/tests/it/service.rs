//! The example service.

#[cfg(unix)]
use std::io::{BufReader, Read as _, Write as _};
#[cfg(unix)]
use std::net::TcpStream;
use std::process::Command;

use crate::example;
#[cfg(unix)]
use crate::interrupt;

fn service() -> Command {
    let mut command = example("service");
    for signal in ["", "TRACES_", "LOGS_"] {
        command.env_remove(format!("OTEL_EXPORTER_OTLP_{signal}ENDPOINT"));
    }
    command
}

#[test]
fn the_demo_drives_itself_and_stops() {
    let spans = run_demo(&[]);
    let requests = spans.lines().find(|line| line.starts_with("request ")).unwrap();
    assert!(requests.contains(" 40 spans, p50 "), "{spans}");
}

#[test]
fn the_demo_runs_with_the_sdk() {
    let spans = run_demo(&["--sdk"]);
    assert_eq!(spans.lines().filter(|line| line.contains(" GET /")).count(), 40, "{spans}");
}

/// Returns what is printed of spans.
fn run_demo(options: &[&str]) -> String {
    let output = service().arg("--demo").args(options).output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{stderr}");
    // Ten of the forty requests can't meet their budgets. On a busy machine more of them don't, and
    // some answers are ready, though late, by the time that the service looks.
    let (spans, summary) = stdout.split_once("\n\n").unwrap();
    assert!(summary.starts_with("40 requests, "), "{summary}");
    let answered_504 = stderr.lines().filter(|line| line.contains(" 504 ")).count();
    assert!(answered_504 > 0, "{stderr}");
    assert!(summary.contains(&format!("{answered_504} exhausted, 5 headers")), "{summary}");
    assert!(summary.contains("source:"), "{summary}");
    // Nothing is lost: one access-log line a request, and the callers count the spans.
    assert_eq!(
        stderr.lines().filter(|line| line.contains(" INFO  service::app: GET /")).count(),
        40
    );
    spans.to_owned()
}

/// The second instance asks the first one, and sends it the rest of its time.
#[cfg(unix)]
#[test]
fn a_budget_reaches_a_second_instance() {
    let mut first = service().args(["--listen", "127.0.0.1:0"]).spawn().unwrap();
    let mut first_log = BufReader::new(first.stderr.take().unwrap());
    let upstream = read_address(&mut first_log);
    let options = ["--listen", "127.0.0.1:0", "--upstream", &upstream];
    let mut second = service().args(options).spawn().unwrap();
    let mut second_log = BufReader::new(second.stderr.take().unwrap());
    let address = read_address(&mut second_log);

    // On a busy machine the service's own limit of 100 ms may pass before there is an answer.
    let answer = loop {
        let answer = get(&address, "/relay/left", "60000m");
        if !answer.contains(" 504 ") {
            break answer;
        }
    };
    let left_us = answer.rsplit_once("\r\n").unwrap().1.trim().strip_suffix(" us");
    let left_us: u32 = left_us.expect(&answer).parse().unwrap();
    // The limit, less the reserve of 20 ms.
    assert!(left_us <= 80_000, "{answer}");
    let answer = get(&address, "/relay/work/60000", "60m");
    assert!(answer.contains(" 504 "), "{answer}");

    for (instance, mut log) in [(second, second_log), (first, first_log)] {
        interrupt(&instance, "INT");
        log.read_to_string(&mut String::new()).unwrap();
        assert!(instance.wait_with_output().unwrap().status.success());
    }
}

/// Returns the response to a request with a budget.
#[cfg(unix)]
fn get(address: &str, path: &str, budget: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: test\r\ngrpc-timeout: {budget}\r\nconnection: close\r\n\r\n"
    );
    connection.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn the_usage_is_printed_if_it_is_asked_for() {
    for option in ["--help", "-h"] {
        let output = service().arg(option).output().unwrap();
        let usage = String::from_utf8(output.stdout).unwrap();
        let names_all = ["--demo", "--sdk", "--listen", "--upstream"]
            .iter()
            .all(|option| usage.contains(&format!("\n  {option}")));
        assert!(output.status.success() && names_all && output.stderr.is_empty(), "{usage}");
    }
}

#[test]
fn a_wrong_option_is_named() {
    let output = service().arg("--dmeo").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("\"--dmeo\" is not an option"));
}

#[test]
fn an_address_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = service().args(["--listen", &address]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(&format!("can't listen on {address}")), "{stderr}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_drains_and_loses_nothing() {
    let direct = [" 2 spans, ", " 1 spans, "].as_slice();
    let sdk = [" GET /work/50\n", " work\n", " GET /\n"].as_slice();
    for (signal, options, spans) in
        [("INT", [].as_slice(), direct), ("TERM", &[], direct), ("INT", &["--sdk"], sdk)]
    {
        // A busy machine may exhaust the request's budget of 100 ms.
        while !drains_and_loses_nothing(signal, options, spans) {}
    }
}

/// Returns false if the request's budget was exhausted.
#[cfg(unix)]
fn drains_and_loses_nothing(signal: &str, options: &[&str], spans: &[&str]) -> bool {
    let listen = ["--listen", "127.0.0.1:0"];
    let mut child = service().args(listen).args(options).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let address = read_address(&mut stderr);

    // The signal comes while this request works for 50 ms.
    let mut connection = TcpStream::connect(&address).unwrap();
    let request = "GET /work/50 HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    connection.write_all(request.as_bytes()).unwrap();
    // A second request is answered, so the service has read the first.
    let mut second = TcpStream::connect(&address).unwrap();
    second.write_all(b"GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").unwrap();
    second.read_to_string(&mut String::new()).unwrap();
    interrupt(&child, signal);

    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    let is_exhausted = response.contains(" 504 ");
    if !is_exhausted {
        assert!(response.contains("200 OK"), "{response}");
        assert!(response.ends_with("worked for 50 ms\n"), "{response}");
    }

    let mut log = String::new();
    stderr.read_to_string(&mut log).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{log}");
    assert!(log.contains("draining"), "{log}");
    let printed = String::from_utf8(output.stdout).unwrap();
    for span in spans {
        assert!(printed.contains(span), "no {span:?} in {printed}");
    }
    !is_exhausted
}

#[cfg(unix)]
fn read_address(stderr: &mut impl std::io::BufRead) -> String {
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let (_, address) = line.trim().split_once("listening on http://").expect(&line);
    address.to_owned()
}
