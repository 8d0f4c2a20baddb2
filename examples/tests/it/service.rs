//! The example service.

#[cfg(unix)]
use std::io::{BufReader, Read as _, Write as _};
#[cfg(unix)]
use std::net::TcpStream;
use std::process::Command;

#[cfg(unix)]
use test_support::{
    otlp::{self, Span},
    receiver::serve,
};

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
    let printed = run_demo(&[]);
    let mut lines = printed.lines();
    let searches =
        lines.find(|line| line.starts_with("http.server.request /search ")).expect(&printed);
    assert!(searches.contains(" 10 spans, p50 "), "{printed}");
}

#[test]
fn the_demo_runs_with_the_sdk() {
    run_demo(&["--sdk"]);
}

/// Checks the summary, and returns what is printed.
fn run_demo(options: &[&str]) -> String {
    let (stdout, stderr) = loop {
        let output = service().arg("--demo").args(options).output().unwrap();
        let (stdout, stderr) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{stderr}");
        // A busy machine may exhaust the budget of the request to both instances.
        if stderr.contains(" GET /relay/work/20 200 ") {
            break (stdout, stderr);
        }
    };
    // Ten of the forty requests can't meet their budgets. On a busy machine more of them don't, and
    // some answers are ready, though late, by the time that the service looks.
    assert!(stdout.contains("\n40 requests, "), "{stdout}");
    let answered_504 = stderr.lines().filter(|line| line.contains(" 504 ")).count();
    assert!(answered_504 > 0, "{stderr}");
    assert!(stdout.contains(&format!("{answered_504} exhausted, 5 headers")), "{stdout}");
    assert!(stdout.contains("source:"), "{stdout}");
    // Nothing is lost: one access-log line a request. The last two are in the trace that is shown.
    let is_access = |line: &&str| line.contains(" INFO  service::app: GET /");
    let access: Vec<_> = stderr.lines().filter(is_access).collect();
    assert_eq!(access.len(), 42, "{stderr}");
    let (_, shown) = stdout.split_once("one trace through both instances: ").expect(&stdout);
    let (trace, spans) = shown.split_once('\n').unwrap();
    assert!(access[40..].iter().all(|line| line.contains(trace)), "{stderr}");
    let spans: Vec<_> = spans.lines().map(|line| line.get(..29).unwrap_or(line)).collect();
    let spans: Vec<_> = spans.iter().map(|name| name.trim_end()).collect();
    let call = "  GET";
    let expected =
        [call, "    GET /relay/{*path}", "      GET", "        GET /work/{ms}", "          work"];
    assert_eq!(spans, expected, "{stdout}");
    stdout
}

/// The second instance asks the first one, sends it the rest of its time, and continues the trace.
#[cfg(unix)]
#[test]
fn a_budget_and_a_trace_reach_a_second_instance() {
    for road in [&[][..], &["--sdk"]] {
        let (endpoint, of_first) = serve();
        let start = |options: &[&str], endpoint: &str| {
            let variables =
                [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", format!("{endpoint}/v1/traces"))];
            let options = ["--listen", "127.0.0.1:0"].iter().chain(options).chain(road);
            service().args(options).envs(variables).spawn().unwrap()
        };
        let mut first = start(&[], &endpoint);
        let mut first_log = BufReader::new(first.stderr.take().unwrap());
        let upstream = read_address(&mut first_log);
        let (endpoint, of_second) = serve();
        let mut second = start(&["--upstream", &upstream], &endpoint);
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
        let [first, second] = [of_first, of_second]
            .map(|all| all.try_iter().flat_map(|(_, body)| otlp::spans(&body)).collect::<Vec<_>>());
        assert!([&first, &second].iter().all(|spans| spans.iter().all(|it| it.trace == TRACE)));
        let named = |spans: &[Span], name| spans.iter().find(|it| it.name == name).cloned();
        let relay = named(&second, "GET /relay/{*path}").unwrap();
        // The SDK's propagator reads the first of several headers.
        let state = if road.is_empty() { "a=1,b=2" } else { "a=1" };
        assert_eq!((relay.parent, relay.kind, &*relay.state), (PARENT, 2, state));
        for name in ["GET /left", "GET /work/{ms}"] {
            let work = named(&first, name).unwrap();
            let call = second.iter().find(|it| it.id == work.parent).unwrap();
            assert_eq!((&*call.name, call.kind), ("GET", 3));
            assert!(second.iter().any(|it| it.id == call.parent && it.name == relay.name));
        }
    }
}

#[cfg(unix)]
const TRACE: u128 = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;
#[cfg(unix)]
const PARENT: u64 = 0xb7ad_6b71_6920_3331;

/// Returns the response to a request with a budget, in a caller's trace.
#[cfg(unix)]
fn get(address: &str, path: &str, budget: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: test\r\ngrpc-timeout: {budget}\r\nconnection: close\r\n\
         traceparent: 00-{TRACE:032x}-{PARENT:016x}-01\r\ntracestate: a=1\r\ntracestate: b=2\r\n\r\n"
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
    let direct = ["http.server.request /work/{ms} ", "http.server.request / ", "step  "].as_slice();
    let sdk = [" GET /work/{ms}\n", " work\n", " GET /\n"].as_slice();
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
