//! The zone of a program whose caller has fewer rights.

use core::time::Duration;
use std::process::Command;

use tach_core::{ManualClock, UnixTime};
use test_support::users::{Copy, STRANGER, can_be_others};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime as _;

/// Not a test: prints a local time.
#[test]
#[ignore = "the child of the next test"]
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn child() {
    let clock = ManualClock::new(UnixTime::EPOCH + Duration::from_secs(1_800_000_000));
    let mut text = String::new();
    tach_tracing::Local
        .digits(0)
        .with_clock(clock)
        .format_time(&mut Writer::new(&mut text))
        .unwrap();
    println!("local time: {text}");
}

#[test]
fn a_caller_with_fewer_rights_chooses_no_zone() {
    if !can_be_others("a_caller_with_fewer_rights_chooses_no_zone") {
        return;
    }
    let [copy, privileged] =
        [false, true].map(|is_setuid| Copy::new(&format!("zone-{is_setuid}"), is_setuid));
    let time = |mut command: Command| {
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().find(|line| line.starts_with("local time: ")).unwrap().to_owned()
    };
    let started = |copy: &Copy, zone: Option<&str>| {
        let mut command = copy.test_as(STRANGER, "privileged::child");
        command.env_remove("TZ").envs(zone.map(|zone| ("TZ", zone)));
        time(command)
    };
    let machine = started(&copy, None);
    // Two zones, of which one is not the machine's.
    let zones = [Some("Asia/Tokyo"), Some("America/Lima")];
    assert!(zones.iter().any(|zone| started(&copy, *zone) != machine), "{machine}");
    assert!(zones.iter().all(|zone| started(&privileged, *zone) == machine), "{machine}");
}
