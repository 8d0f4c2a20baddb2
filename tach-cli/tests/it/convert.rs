//! `tach convert`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use tach_core::{Instant, UnixTime};
use tach_tracing::{TickScale, Ticks};

use crate::support::{Folder, Run, run, tach};

const SCALE: &str = "tick=1000 time=1970-01-01T00:00:01Z ns_per_tick=0.5";

/// Runs the command with a text on its standard input.
fn fed(command: &mut Command, text: &str) -> Run {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Run {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn the_scales_before_and_after_a_line_convert_its_tick() {
    let log = "1000  INFO tick=1000 time=1970-01-01T00:00:01Z ns_per_tick=0.4\n\
               2000  INFO half way\n\
               no tick here\n\
               \u{1b}[2m2500\u{1b}[0m  WARN in colour tick=7\n\
               3000  INFO tick=3000 time=1970-01-01T00:00:01.000001Z ns_per_tick=0.7\n\
               5000  INFO after the last scale\n";
    let found = fed(&mut tach(&["convert"]), log);
    assert_eq!(found.status, Some(0), "{}", found.stderr);
    let expected = "1970-01-01T00:00:01.000000000Z  INFO tick=1000 time=1970-01-01T00:00:01Z \
                    ns_per_tick=0.4\n\
                    1970-01-01T00:00:01.000000500Z  INFO half way\n\
                    no tick here\n\
                    \u{1b}[2m1970-01-01T00:00:01.000000750Z\u{1b}[0m  WARN in colour tick=7\n\
                    1970-01-01T00:00:01.000001000Z  INFO tick=3000 \
                    time=1970-01-01T00:00:01.000001Z ns_per_tick=0.7\n\
                    1970-01-01T00:00:01.000002400Z  INFO after the last scale\n";
    // Not a terminal, so no colours.
    let plain = |text: &str| text.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "");
    assert_eq!(found.stdout, plain(expected));
}

#[test]
fn a_file_with_lines_of_json_is_converted() {
    let folder = Folder::new("convert");
    let log = folder.write(
        "app.log",
        &format!(
            "{{\"timestamp\":\"1000\",\"m\":\"{SCALE}\"}}\n{{\"timestamp\":\"1200\",\"m\":1}}\n"
        ),
    );
    let found = run(tach(&["convert", "--json"]).arg(log));
    let lines: Vec<serde_json::Value> =
        found.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[1]["unix_ns"], &lines[1]["tick"]), (&1_000_000_100.into(), &1200.into()));
    assert_eq!(lines[1]["time"], "1970-01-01T00:00:01.000000100Z");
}

#[test]
fn a_tick_is_converted_as_the_scale_does() {
    let (scale, tick) = (Ticks.scale(), Instant::now().as_ticks());
    let text = scale.to_string();
    let found = run(&mut tach(&["convert", "--scale", &text, "--tick", &tick.to_string()]));
    let read: TickScale = text.parse().unwrap();
    assert_eq!(found.stdout.trim().parse::<UnixTime>().unwrap(), read.unix_time(tick));
}

#[test]
fn bad_input_is_named_with_its_place_and_with_what_would_be_right() {
    let found = fed(&mut tach(&["convert"]), "1 a\ntick=1 time=now ns_per_tick=1\n");
    assert_eq!((found.status, &found.stdout[..]), (Some(3), ""));
    for part in ["line 2 of standard input", "tick=1 time=now", "expected a digit at byte 0"] {
        assert!(found.stderr.contains(part), "{part}: {}", found.stderr);
    }
    let found = fed(&mut tach(&["convert"]), "1 a\n");
    assert_eq!(found.status, Some(3));
    for part in ["standard input has no scale", SCALE, "Ticks.scale()"] {
        assert!(found.stderr.contains(part), "{part}: {}", found.stderr);
    }
    let found = run(&mut tach(&["convert", "no-such.log"]));
    assert!(found.status == Some(3) && found.stderr.contains("can't open no-such.log"));
    let found = run(&mut tach(&["convert", "--scale", "tick=x", "--tick", "1"]));
    assert_eq!(found.status, Some(2));
    assert!(found.stderr.contains("the tick at byte 5 must be a number"), "{}", found.stderr);
}
