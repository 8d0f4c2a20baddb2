//! The demo prints its proof.

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
        "WARN demo::service: no such user rows=0",
        "└ ",
        "Lost: 0 of 2400 records",
        "Order of two threads: 0 of ",
        "with tracing-subscriber's fmt to a file",
        "off at most",
    ] {
        assert!(text.contains(part), "\"{part}\" is missing:\n{text}");
    }
}
