//! The cases and their expectations.

use core::time::Duration;
use std::env;
use std::process::{Command, Output};
use std::thread;

use tach_core::{
    Config, Instant, MonotonicInstant, Order, Source, UnixTime, adapter, status, uptime,
};
use test_support::this_program;
#[cfg(all(unix, not(miri)))]
use test_support::users;

/// A case: the child's environment, its work, and the number of lines that it prints to standard
/// error.
struct Case {
    name: &'static str,
    tach_source: Option<&'static str>,
    tach_order: Option<&'static str>,
    run: fn(),
    complaints: usize,
}

/// Creates a case with an empty environment.
const fn case(name: &'static str, run: fn()) -> Case {
    Case { name, tach_source: None, tach_order: None, run, complaints: 0 }
}

const CASES: &[Case] = &[
    case("unset", unset),
    Case { tach_source: Some("os"), ..case("os", os) },
    Case { tach_source: Some("counter"), ..case("counter", counter) },
    Case { tach_source: Some("tsc"), complaints: 1, ..case("misspelt", misspelt) },
    Case { tach_source: Some(""), complaints: 1, ..case("empty", misspelt) },
    Case { tach_source: Some("counter"), ..case("call", call) },
    case("call_too_late", call_too_late),
    Case { tach_order: Some("enforced"), ..case("enforced", enforced) },
    Case { tach_order: Some("strict"), complaints: 1, ..case("misspelt_order", misspelt_order) },
    Case {
        tach_source: Some("tsc"),
        tach_order: Some("1"),
        complaints: 2,
        ..case("both_misspelt", both_misspelt)
    },
    case("enforce_call", enforce_call),
    case("enforce_call_too_late", enforce_call_too_late),
    case("both_settings", both_settings),
    case("second_caller", second_caller),
    case("empty_config", empty_config),
    case("uptime", uptime_counts_from_the_first_use),
];

/// Cases of a set-user-ID program that a user without privileges starts.
const PRIVILEGED: &[Case] = &[
    Case { tach_source: Some("os"), tach_order: Some("1"), ..case("privileged", privileged) },
    Case { tach_source: Some("os"), ..case("privileged_and_trusting", privileged_and_trusting) },
];

pub(crate) fn main() {
    let arguments: Vec<String> = env::args().collect();
    let mut all = CASES.iter().chain(PRIVILEGED);
    if let Some(case) = all.find(|case| arguments.last() == Some(&case.name.to_owned())) {
        (case.run)();
        return;
    }
    for case in CASES {
        check(case, this_program());
    }
    #[cfg(all(unix, not(miri)))]
    if users::can_be_others("a set-user-ID program reads no variable") {
        let copy = users::Copy::new("source", true);
        for case in PRIVILEGED {
            check(case, copy.started_by(users::STRANGER));
        }
    }
    eprintln!("{} passed, 0 failed", CASES.len());
}

/// Runs a case in a child process.
fn check(case: &Case, program: Command) {
    let output = child(case, program);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "case {}: {complaints}", case.name);
    assert_eq!(complaints.lines().count(), case.complaints, "case {}: {complaints}", case.name);
    assert!(complaints.lines().all(|line| line.contains("TACH_")), "{complaints}");
}

fn child(case: &Case, mut command: Command) -> Output {
    command.arg(case.name);
    for (name, value) in [("TACH_SOURCE", case.tach_source), ("TACH_ORDER", case.tach_order)] {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.output().expect("this program starts again")
}

fn uptime_counts_from_the_first_use() {
    let _first = Instant::now();
    // Don't wait by tach's clock: its conversions would begin the timeline as well.
    thread::sleep(Duration::from_millis(5));
    let uptime = uptime();
    assert!(uptime >= Duration::from_millis(4), "{uptime:?}");
}

/// Checks that the clock runs and is in order, for any source.
fn use_the_clock() {
    let (start, strict, unix) = (Instant::now(), MonotonicInstant::now(), UnixTime::now());
    while start.elapsed().as_micros() < 100 {}
    assert!(MonotonicInstant::now() > strict);
    assert!(UnixTime::now() > unix);
    let system = UnixTime::from_system_time(std::time::SystemTime::now());
    let off = UnixTime::now().as_nanos().abs_diff(system.as_nanos());
    assert!(off < 60_000_000_000, "off by {off} ns, more than a minute");
}

fn unset() {
    use_the_clock();
    let status = status();
    assert!(!status.source_request_ignored && !status.order_request_ignored);
    assert!(!status.source_request_refused, "{status}");
    assert!(!matches!(status.reason.as_str(), "environment" | "call"), "{status}");
}

fn os() {
    use_the_clock();
    let status = status();
    assert_eq!((status.source, status.reason.as_str()), (Source::Os, "environment"), "{status}");
    assert_eq!(status.order, Order::Enforced);
    assert_eq!(status.frequency_hz, Some(1_000_000_000));
    assert_eq!(status.monotonic.syncs, 0);
}

fn counter() {
    use_the_clock();
    let status = status();
    match status.reason.as_str() {
        "environment" => assert_eq!(status.source, Source::Counter),
        // This machine has no usable counter, and the status reports that.
        "no-counter" | "counter-disabled" => {
            assert_eq!((status.source, status.source_request_refused), (Source::Os, true));
        }
        _ => panic!("{status}"),
    }
}

fn misspelt() {
    use_the_clock();
    let status = status();
    assert!(status.source_request_ignored && !status.order_request_ignored);
    assert!(status.to_string().contains("TACH_SOURCE"), "{status}");
    assert_ne!(status.reason.as_str(), "environment");
}

fn call() {
    install(Config::new().force_source(Source::Os));
    use_the_clock();
    let status = status();
    assert_eq!((status.source, status.reason.as_str()), (Source::Os, "call"), "{status}");
    // `TACH_SOURCE` asked for the other source.
    assert!(status.source_request_refused, "{status}");
    assert!(status.to_string().contains("the other source was not granted"), "{status}");
    assert_eq!((status.frequency_hz, status.monotonic.syncs), (Some(1_000_000_000), 0));
}

fn call_too_late() {
    use_the_clock();
    let error = Config::new().force_source(Source::Os).install().unwrap_err();
    assert!(
        error.is_too_late() && error.to_string().contains("the clock was read before"),
        "{error}"
    );
    assert_ne!(status().reason.as_str(), "call");
}

fn enforced() {
    use_the_clock();
    let status = status();
    assert_eq!(status.order, Order::Enforced, "{status}");
    assert!(!matches!(status.reason.as_str(), "environment" | "call"), "{status}");
}

fn misspelt_order() {
    use_the_clock();
    let status = status();
    assert!(status.order_request_ignored && !status.source_request_ignored);
    assert!(status.to_string().contains("TACH_ORDER is ignored: it must be \"enforced\""));
}

fn both_misspelt() {
    use_the_clock();
    let status = status();
    assert!(status.order_request_ignored && status.source_request_ignored);
}

fn enforce_call() {
    install(Config::new().enforce_order());
    use_the_clock();
    let status = status();
    assert_eq!(status.order, Order::Enforced, "{status}");
}

fn enforce_call_too_late() {
    use_the_clock();
    let order = status().order;
    Config::new().enforce_order().install().unwrap_err();
    assert_eq!(status().order, order);
}

/// The variables come from a caller with fewer rights, so they are ignored.
fn privileged() {
    assert!(
        adapter::has_more_privileges_than_caller(),
        "the folder's file system has no set-user-ID"
    );
    use_the_clock();
    let status = status();
    assert_ne!(status.reason.as_str(), "environment", "{status}");
    assert!(!status.order_request_ignored, "{status}");
}

fn privileged_and_trusting() {
    install(Config::new().trust_environment());
    os();
}

/// A configuration has several settings, and the last source counts.
fn both_settings() {
    install(Config::new().force_source(Source::Os).enforce_order().force_source(Source::Counter));
    use_the_clock();
    let status = status();
    assert!(matches!(status.reason.as_str(), "call" | "no-counter" | "counter-disabled"));
    assert_eq!(status.order, Order::Enforced, "{status}");
}

/// The first configuration applies. The error names the other caller, also after the first read.
fn second_caller() {
    install(Config::new().force_source(Source::Os));
    for _ in 0..2 {
        let error = Config::new().force_source(Source::Counter).install().unwrap_err();
        assert!(
            error.is_too_late() && error.to_string().contains("another configuration"),
            "{error}"
        );
        use_the_clock();
        assert_eq!(status().source, Source::Os);
    }
}

/// A configuration without settings also counts as the first.
fn empty_config() {
    install(Config::new());
    assert!(Config::new().enforce_order().install().is_err());
    unset();
}

fn install(config: Config) {
    config.install().expect("no read has chosen the source yet");
}
