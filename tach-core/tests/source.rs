//! The choice of the source. It is made once a process, so each case runs in a child: this program
//! again, with the case's name as its argument.

use std::env;
use std::process::{Command, Output};

use tach_core::{Instant, MonotonicInstant, Order, Reason, Source, UnixTime, force_source, status};

/// A case: what the child has in `TACH_SOURCE`, what it does, and what its standard error holds.
struct Case {
    name: &'static str,
    tach_source: Option<&'static str>,
    run: fn(),
    complaints: usize,
}

const CASES: &[Case] = &[
    Case { name: "unset", tach_source: None, run: unset, complaints: 0 },
    Case { name: "os", tach_source: Some("os"), run: os, complaints: 0 },
    Case { name: "counter", tach_source: Some("counter"), run: counter, complaints: 0 },
    Case { name: "misspelt", tach_source: Some("tsc"), run: misspelt, complaints: 1 },
    Case { name: "empty", tach_source: Some(""), run: misspelt, complaints: 1 },
    Case { name: "call", tach_source: Some("counter"), run: call, complaints: 0 },
    Case { name: "call_too_late", tach_source: None, run: call_too_late, complaints: 0 },
];

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if let Some(case) = CASES.iter().find(|case| arguments.last() == Some(&case.name.to_owned())) {
        (case.run)();
        return;
    }
    for case in CASES {
        let output = child(case);
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "case {}: {complaints}", case.name);
        assert_eq!(complaints.lines().count(), case.complaints, "case {}: {complaints}", case.name);
        assert!(complaints.lines().all(|line| line.contains("TACH_SOURCE")), "{complaints}");
    }
    eprintln!("{} passed, 0 failed", CASES.len());
}

fn child(case: &Case) -> Output {
    let mut command = Command::new(env::current_exe().expect("this program has a path"));
    command.arg(case.name).env_remove("TACH_SOURCE");
    if let Some(value) = case.tach_source {
        command.env("TACH_SOURCE", value);
    }
    command.output().expect("this program starts again")
}

/// The clock runs and is in order, whatever its source.
fn use_the_clock() {
    let (start, strict, unix) = (Instant::now(), MonotonicInstant::now(), UnixTime::now());
    while start.elapsed().as_micros() < 100 {}
    assert!(MonotonicInstant::now() > strict);
    assert!(UnixTime::now() > unix);
    let system = UnixTime::from_system_time(std::time::SystemTime::now());
    let off = UnixTime::now().as_nanos().abs_diff(system.as_nanos());
    assert!(off < 60_000_000_000, "a minute off: {off} ns");
}

fn unset() {
    use_the_clock();
    let status = status();
    assert!(!status.request_ignored);
    assert!(!matches!(status.reason, Reason::Environment | Reason::Call), "{status}");
}

fn os() {
    use_the_clock();
    let status = status();
    assert_eq!((status.source, status.reason), (Source::Os, Reason::Environment), "{status}");
    assert_eq!(status.order, Order::OsClock);
    assert_eq!(status.frequency_hz, Some(1_000_000_000));
    assert_eq!(status.monotonic.syncs, 0);
}

fn counter() {
    use_the_clock();
    let status = status();
    match status.reason {
        Reason::Environment => assert_eq!(status.source, Source::Counter),
        // It can't be had here, and the status says so.
        Reason::NoCounter | Reason::CounterDisabled => assert_eq!(status.source, Source::Os),
        _ => panic!("{status}"),
    }
}

fn misspelt() {
    use_the_clock();
    let status = status();
    assert!(status.request_ignored);
    assert!(status.to_string().contains("TACH_SOURCE"), "{status}");
    assert_ne!(status.reason, Reason::Environment);
}

fn call() {
    force_source(Source::Os).expect("nothing has read the clock yet");
    use_the_clock();
    let status = status();
    assert_eq!((status.source, status.reason), (Source::Os, Reason::Call), "{status}");
    assert_eq!((status.frequency_hz, status.monotonic.syncs), (Some(1_000_000_000), 0));
    assert!(force_source(Source::Counter).is_err());
}

fn call_too_late() {
    use_the_clock();
    assert!(force_source(Source::Os).is_err());
    assert_ne!(status().reason, Reason::Call);
}
