//! `tach calibrate`.

use crate::support::{run, tach};

#[test]
fn all_methods_find_the_same_frequency() {
    let found = run(&mut tach(&["calibrate", "--json", "--for", "300ms"]));
    assert_eq!(found.status, Some(0), "{}", found.stderr);
    let json = found.json();
    let reference = json["reference_hz"].as_f64().unwrap();
    let methods = json["methods"].as_array().unwrap();
    assert_eq!(methods.len(), 7);
    // Each point is the narrowest of several brackets, but a busy machine may interrupt them all.
    for method in methods.iter().filter(|method| method["name"] != "declared by the CPU") {
        let hz = method["hz"].as_f64().unwrap();
        assert!((hz / reference - 1.0).abs() < 1e-2, "{method} and {reference}");
        let error = method["error_ppb"].as_f64().unwrap();
        assert!((error - (hz / reference - 1.0) * 1e9).abs() < 1.0, "{method}");
    }
}

#[test]
fn the_os_clocks_ticks_are_nanoseconds() {
    let found = run(tach(&["calibrate", "--json", "--for", "100ms"]).env("TACH_SOURCE", "os"));
    let json = found.json();
    assert_eq!(json["source"], "os");
    let reference = json["reference_hz"].as_f64().unwrap();
    assert!((reference / 1e9 - 1.0).abs() < 1e-2, "{reference}");
}

#[test]
fn a_time_that_is_too_short_is_named() {
    let found = run(&mut tach(&["calibrate", "--for", "1ms"]));
    assert_eq!(found.status, Some(2));
    assert!(found.stderr.contains("must be at least 100ms"), "{}", found.stderr);
}
