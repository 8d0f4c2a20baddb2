//! The inputs of the fuzzers (`fuzz/corpus`).

#[cfg(feature = "config")]
#[path = "../../fuzz/checks/config.rs"]
mod config;
#[cfg(feature = "tracing")]
#[path = "../../fuzz/checks/context.rs"]
mod context;
#[path = "../../fuzz/checks/filter.rs"]
mod filter;
#[path = "../../fuzz/checks/layout.rs"]
mod layout;
#[path = "../../fuzz/checks/redact.rs"]
mod redact;
#[path = "../../fuzz/checks/rfc3339.rs"]
mod rfc3339;

use std::fs;
use std::path::Path;

/// Checks each input of a target.
fn check_all(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let inputs: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(inputs.len() > 5, "{target}: {}", inputs.len());
    for input in inputs {
        check(&fs::read(input).unwrap());
    }
}

#[cfg(feature = "config")]
#[test]
fn no_configuration_panics() {
    check_all("config", config::check);
}

#[cfg(feature = "tracing")]
#[test]
fn no_header_of_a_caller_is_passed_on_damaged() {
    check_all("context", context::check);
}

#[test]
fn no_filter_panics() {
    check_all("filter", filter::check);
}

#[test]
fn each_time_that_is_read_is_written_as_the_same() {
    check_all("rfc3339", rfc3339::check);
}

#[test]
fn each_layout_writes_one_line() {
    check_all("layout", layout::check);
}

#[test]
fn a_pattern_hides_what_its_definition_says() {
    check_all("redact", redact::check);
}
