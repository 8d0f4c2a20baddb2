//! `tach drift`.

use std::fs;
use std::process::Stdio;

use crate::support::{Folder, run, tach};

const CLOCKS: [&str; 5] = ["tach", "tach Unix time", "quanta", "minstant", "anchored"];

#[test]
fn each_clock_has_a_summary_and_a_line() {
    let folder = Folder::new("drift");
    let svg = folder.path().join("d.svg");
    let found = run(tach(&["drift", "--json", "--for", "200ms", "--plot"]).arg(&svg));
    assert_eq!(found.status, Some(0), "{}", found.stderr);
    let json = found.json();
    let names: Vec<_> =
        json["clocks"].as_array().unwrap().iter().map(|clock| clock["name"].clone()).collect();
    assert_eq!(names, CLOCKS);
    let svg = fs::read_to_string(svg).unwrap();
    let panels = ["error in ", "time since the start in ms", "tach alone", "frequency"];
    for text in panels.iter().chain(&CLOCKS) {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    // The colour of tach's line.
    assert!(svg.contains("#0072B2"), "{svg}");
}

/// The counter's frequency has a bound, and each method a distance from it.
#[test]
fn the_counter_is_calibrated() {
    let json = run(&mut tach(&["drift", "--json", "--for", "200ms"])).json();
    let calibration = &json["calibration"];
    assert!(calibration["reference_hz"].as_f64().unwrap() > 1e6, "{json}");
    assert!(calibration["bound_ppb"].as_f64().unwrap() > 0.0, "{json}");
    let methods = calibration["methods"].as_array().unwrap();
    let measured = methods.iter().find(|one| one["name"] == "measured for 10 ms").unwrap();
    assert!(measured["error_ppb"].is_number(), "{json}");
    // Without a counter the ticks are the OS clock's nanoseconds.
    let by_os = run(tach(&["drift", "--json", "--for", "200ms"]).env("TACH_SOURCE", "os")).json();
    assert_eq!(by_os["calibration"]["source"], "os");
}

/// Ctrl-C ends the measurement, not the program.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_measurement_is_summarized_and_drawn() {
    use std::process::{Command, Stdio};
    use std::thread;

    let folder = Folder::new("drift-interrupted");
    let svg = folder.path().join("d.svg");
    let mut command = tach(&["drift", "--json", "--for", "1h", "--load", "1", "--plot"]);
    fs::write(&svg, "an older plot").unwrap();
    command.arg(&svg).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // SIGINT is the second bit (proc(5)).
    let is_caught = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 2 != 0
    };
    while !is_caught() {
        thread::yield_now();
    }
    // Nothing of a plot is written before the plot is complete.
    assert_eq!(fs::read_to_string(&svg).unwrap(), "an older plot");
    let killed = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["seconds"].as_f64().unwrap() < 3600.0, "{json}");
    assert!(fs::read_to_string(svg).unwrap().trim_end().ends_with("</svg>"));
}

#[test]
fn files_that_cannot_be_written_are_named_before_the_measurement() {
    let found = run(&mut tach(&["drift", "--for", "3s", "--plot", "drift.pdf"]));
    assert_eq!(found.status, Some(2));
    assert!(found.stderr.contains("must end with .svg"), "{}", found.stderr);
    let found = run(&mut tach(&["drift", "--for", "1h", "--plot", "/no/such/drift.svg"]));
    assert_eq!(found.status, Some(3));
    assert!(found.stderr.contains("can't create /no/such/drift.svg"), "{}", found.stderr);
}

#[test]
fn times_that_cannot_be_used_are_named() {
    for (time, why) in [("0s", "longer than no time"), ("20", "looks like"), ("soon", "looks like")]
    {
        let found = run(&mut tach(&["drift", "--for", time]));
        let names_both = found.stderr.contains("--for") && found.stderr.contains(why);
        assert!(found.status == Some(2) && names_both, "{}", found.stderr);
    }
}

#[test]
fn people_get_a_table() {
    let found = run(&mut tach(&["drift", "--for", "50ms"]));
    let lines: Vec<_> = found.stdout.lines().collect();
    assert!(lines[0].starts_with("error against the OS clock over "), "{}", found.stdout);
    for (line, name) in lines[2..].iter().zip(CLOCKS) {
        assert!(line.starts_with(name), "{line}");
    }
    assert!(lines[7].starts_with("resolved to "), "{}", found.stdout);
    assert!(found.stdout.contains("\nfrequency of "), "{}", found.stdout);
}

/// Plots in folders of others, as root and as another user.
#[cfg(unix)]
#[test]
fn a_plot_replaces_no_file_that_somebody_laid_there() {
    use std::os::unix::fs::symlink;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use test_support::users::{SERVICE, STRANGER, can_be_others, give, set_mode};

    if !can_be_others("a_plot_replaces_no_file_that_somebody_laid_there") {
        return;
    }
    let folder = Folder::new("laid");
    let victim = folder.write("victim", "root's");
    let shared = folder.path().join("shared");
    fs::create_dir(&shared).unwrap();
    set_mode(&shared, 0o1777);
    let (link, theirs, twice) = (shared.join("a.svg"), shared.join("b.svg"), shared.join("c.svg"));
    symlink(&victim, &link).unwrap();
    fs::write(&theirs, "theirs").unwrap();
    fs::hard_link(&victim, &twice).unwrap();
    give(&link, STRANGER);
    give(&theirs, STRANGER);
    let plot = ["drift", "--for", "1ms", "--plot"];
    for path in [&link, &theirs, &twice] {
        let refused = run(tach(&plot).arg(path));
        assert_eq!(refused.status, Some(3), "{}", refused.stderr);
        assert!(refused.stderr.contains("can't create"), "{}", refused.stderr);
    }
    assert_eq!(fs::read_to_string(victim).unwrap(), "root's");
    assert_eq!(fs::read_to_string(theirs).unwrap(), "theirs");
    // The user's own file is replaced.
    let own = shared.join("own.svg");
    for _ in 0..2 {
        let written = run(tach(&plot).arg(&own));
        assert_eq!(written.status, Some(0), "{}", written.stderr);
    }
    assert_eq!(fs::read_to_string(own).unwrap().matches("</svg>").count(), 1);
    // A colleague's link does not lead another user to that user's own file either.
    set_mode(folder.path(), 0o755);
    set_mode(&shared, 0o775);
    std::os::unix::fs::chown(&shared, None, Some(STRANGER)).unwrap();
    let (program, theirs) = (folder.path().join("tach"), folder.write("service", "theirs"));
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_tach")).arg(&program).status().is_ok());
    give(&theirs, SERVICE);
    let link = shared.join("d.svg");
    symlink(&theirs, &link).unwrap();
    give(&link, STRANGER);
    let mut tach = Command::new(program);
    tach.args(plot).arg(&link).uid(SERVICE).gid(STRANGER).current_dir("/");
    let refused = run(&mut tach);
    assert!(refused.stderr.contains(&format!("a link of user {STRANGER}")), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(theirs).unwrap(), "theirs");
}

/// `head` closes the pipe when it has its lines.
#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let mut child = tach(&["drift", "--for", "50ms"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
