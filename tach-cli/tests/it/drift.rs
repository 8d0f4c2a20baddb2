//! `tach drift`.

#[cfg(unix)]
use core::time::Duration;
use std::fs;
#[cfg(unix)]
use std::process::{Command, Stdio};
#[cfg(unix)]
use std::thread;

#[cfg(unix)]
use serde_json::Value;

use crate::support::{Folder, run, tach};

const CLOCKS: [&str; 5] = ["tach", "tach Unix time", "quanta", "minstant", "anchored"];

#[test]
fn each_clock_has_a_summary_a_column_and_a_line() {
    let folder = Folder::new("drift");
    let [csv, svg] = ["d.csv", "d.svg"].map(|name| folder.path().join(name));
    let mut command = tach(&["drift", "--json", "--for", "200ms", "--every", "10ms"]);
    command.arg("--csv").arg(&csv).arg("--plot").arg(&svg);
    let found = run(&mut command);
    assert_eq!(found.status, Some(0), "{}", found.stderr);
    let json = found.json();
    let names: Vec<_> =
        json["clocks"].as_array().unwrap().iter().map(|clock| clock["name"].clone()).collect();
    assert_eq!(names, CLOCKS);
    let csv = fs::read_to_string(csv).unwrap();
    let mut lines = csv.lines();
    assert_eq!(
        lines.next().unwrap(),
        "seconds,tach_error_ns,tach_bracket_ns,tach_unix_time_error_ns,tach_unix_time_bracket_ns,\
         quanta_error_ns,quanta_bracket_ns,minstant_error_ns,minstant_bracket_ns,\
         anchored_error_ns,anchored_bracket_ns"
    );
    let rows: Vec<Vec<f64>> =
        lines.map(|line| line.split(',').map(|word| word.parse().unwrap()).collect()).collect();
    assert_eq!(Some(rows.len() as u64), json["comparisons"].as_u64());
    assert!(rows.iter().all(|row| row.len() == 11) && rows.is_sorted_by(|a, b| a[0] < b[0]));
    // The last error of the JSON is the last row's, unless that was interrupted.
    let last = json["clocks"][0]["last_ns"].as_f64().unwrap();
    assert!(rows.iter().any(|row| (row[1] - last).abs() < 0.5), "{last}");

    let svg = fs::read_to_string(svg).unwrap();
    for text in ["error in ", "time since the start in ms", "tach alone"].iter().chain(&CLOCKS) {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    // The colour of tach's line.
    assert!(svg.contains("#0072B2"), "{svg}");
}

/// Ctrl-C ends the measurement, not the program.
#[cfg(unix)]
#[test]
fn an_interrupted_measurement_is_summarized_and_drawn() {
    let folder = Folder::new("drift-interrupted");
    let [csv, svg] = ["d.csv", "d.svg"].map(|name| folder.path().join(name));
    let mut command = tach(&["drift", "--json", "--for", "1h", "--every", "10ms", "--load", "1"]);
    command.arg("--csv").arg(&csv).arg("--plot").arg(&svg);
    fs::write(&svg, "an older plot").unwrap();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let rows = || fs::read_to_string(&csv).map_or(0, |text| text.lines().count());
    while rows() < 5 {
        thread::sleep(Duration::from_millis(5));
    }
    // Nothing of a plot is written before the plot is complete.
    assert_eq!(fs::read_to_string(&svg).unwrap(), "an older plot");
    let killed = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["comparisons"].as_u64() >= Some(4) && json["under_load"].is_object(), "{json}");
    assert!(fs::read_to_string(svg).unwrap().trim_end().ends_with("</svg>"));
}

#[test]
fn files_that_cannot_be_written_are_named_before_the_measurement() {
    let found = run(&mut tach(&["drift", "--for", "3s", "--plot", "drift.pdf"]));
    assert_eq!(found.status, Some(2));
    assert!(found.stderr.contains("must end with .svg"), "{}", found.stderr);
    for option in ["--plot", "--csv"] {
        let found = run(&mut tach(&["drift", "--for", "3s", option, "/no/such/drift.svg"]));
        assert_eq!(found.status, Some(3));
        assert!(found.stderr.contains("can't create /no/such/drift.svg"), "{}", found.stderr);
    }
    // The check leaves no file.
    let folder = Folder::new("drift-check");
    let svg = folder.path().join("d.svg");
    let mut command = tach(&["drift", "--for", "1h", "--csv", "/no/such/d.csv", "--plot"]);
    assert_eq!(run(command.arg(&svg)).status, Some(3));
    assert!(!svg.exists());
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
    assert!(lines[7].contains(" comparisons, resolved to "), "{}", found.stdout);
}

#[test]
fn busy_threads_compare_too() {
    let found = run(&mut tach(&["drift", "--json", "--for", "100ms", "--load", "2"]));
    let json = found.json();
    let timelines = json["under_load"]["timelines"].as_array().unwrap();
    let names: Vec<_> = timelines.iter().map(|timeline| &timeline["name"]).collect();
    assert_eq!(names, ["monotonic", "real time"]);
    assert_eq!((&timelines[0]["backward"], found.status), (&0.into(), Some(0)));
    assert!(timelines.iter().all(|one| one["measured"].is_u64() && one["syncs"].is_u64()));
    let found = run(&mut tach(&["drift", "--for", "50ms", "--load", "1"]));
    assert!(found.stdout.contains("\ntach's timelines on busy threads\n"), "{}", found.stdout);
}

/// A plot in a folder like `/tmp`, as root.
#[cfg(unix)]
#[test]
fn a_plot_replaces_no_file_that_somebody_laid_there() {
    use std::os::unix::fs::symlink;

    use test_support::users::{STRANGER, can_be_others, give, set_mode};

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
    for path in [&link, &theirs, &twice] {
        for option in ["--plot", "--csv"] {
            let mut command = tach(&["drift", "--for", "1ms", "--every", "1ms", option]);
            let refused = run(command.arg(path));
            assert_eq!(refused.status, Some(3), "{}", refused.stderr);
            assert!(refused.stderr.contains("can't create"), "{}", refused.stderr);
        }
    }
    assert_eq!(fs::read_to_string(victim).unwrap(), "root's");
    assert_eq!(fs::read_to_string(theirs).unwrap(), "theirs");
    // The user's own file is replaced, and a pipe is written.
    let own = shared.join("own.csv");
    for path in [&*own, &*own, "/dev/stdout".as_ref()] {
        let mut command = tach(&["drift", "--for", "1ms", "--every", "1ms", "--csv"]);
        let written = run(command.arg(path));
        assert_eq!(written.status, Some(0), "{}", written.stderr);
        assert!(path == own || written.stdout.starts_with("seconds,"), "{}", written.stdout);
    }
    assert_eq!(fs::read_to_string(own).unwrap().matches("seconds,").count(), 1);
}
