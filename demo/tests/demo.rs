//! The demo prints its proof.

#[cfg(target_os = "linux")]
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn the_proof_is_printed() {
    let output = Command::new(env!("CARGO_BIN_EXE_demo")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for part in [
        "GET /users/{id} http.request.method=",
        " http.response.status_code=200\n",
        "├ query user=199",
        "WARN demo::service: no orders rows=0",
        "└ ",
        "Lost: 0 of 2400 records",
        "Order of two threads: 0 of ",
        "with tracing-subscriber's fmt to a file",
        "off at most",
    ] {
        assert!(text.contains(part), "\"{part}\" is missing:\n{text}");
    }
}

/// A visitor builds the demo first, so its crates are few. Other systems need other crates.
#[cfg(target_os = "linux")]
#[test]
fn the_crates_are_fewer_than_seventy() {
    let arguments = "tree --offline --package demo --edges normal,build --prefix none --no-dedupe";
    let output = Command::new(env!("CARGO")).args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let crates: BTreeSet<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert!(crates.len() < 70, "{}: {crates:#?}", crates.len());
}
