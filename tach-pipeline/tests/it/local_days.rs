//! Rotations at midnight of local time.

use core::time::Duration;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::{Instant, SystemTime};
use std::{env, thread};

use tach_core::UnixTime;
use tach_pipeline::{Pipeline, Rotation, Sink};
use test_support::this_program;

use crate::support::{Folder, LONG, info};

const PATH: &str = "TACH_TEST_LOCAL_DAYS_PATH";

/// Returns the names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Not a test: the child of the next test.
#[test]
fn writes() {
    let Some(path) = env::var_os(PATH) else { return };
    let sink = Sink::file(Path::new(&path)).rotate(Rotation::new().daily().local_time().keep(2));
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    info(guard.pipeline(), "today");
    guard.pipeline().flush(LONG).unwrap();
    // Another thread deletes the oldest file.
    let start = Instant::now();
    while names(Path::new(&path).parent().unwrap()).len() > 3 {
        assert!(start.elapsed() < LONG, "no file is deleted");
        thread::yield_now();
    }
}

#[test]
fn a_file_is_rotated_at_midnight_of_the_system_s_zone() {
    // In the zone of the child, midnight was one to two minutes ago.
    let minute = UnixTime::now().as_secs() / 60 - 1;
    let behind = minute % (24 * 60);
    let zone = format!("XYZ{:02}:{:02}", behind / 60, behind % 60);
    let sign = if behind == 0 { '+' } else { '-' };
    let offset = format!("{sign}{:02}{:02}", behind / 60, behind % 60);
    // The file was written before or after that midnight.
    for (before, is_rotated) in [(1, true), (0, false)] {
        let folder = Folder::new(&format!("local-days-{before}"));
        let path = folder.path("app.log");
        // The second of these files is older by its time, although its text sorts last.
        let (old, older) = ("20200101T000000.000000-0100", "20200101T010000.000000+0100");
        for name in [old, older] {
            fs::write(folder.path(&format!("app.log.{name}")), "").unwrap();
        }
        fs::write(&path, "yesterday\n").unwrap();
        let written = SystemTime::UNIX_EPOCH + Duration::from_secs((minute - before) * 60);
        File::options().append(true).open(&path).unwrap().set_modified(written).unwrap();
        let mut child = this_program();
        child.args(["--exact", "local_days::writes"]).env("TZ", &zone).env(PATH, &path);
        assert!(child.stdout(Stdio::null()).status().unwrap().success());
        let names = names(&folder.path(""));
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.contains("yesterday"), !is_rotated, "{zone} {names:?}");
        if is_rotated {
            assert_eq!(names[1], format!("app.log.{old}"));
            assert!(names[2].starts_with("app.log.2") && names[2].ends_with(&offset), "{names:?}");
            // Its last record was written in the minute before midnight.
            assert!(names[2].contains("T2359"), "{names:?}");
        }
        assert_eq!(names.len(), 3, "{names:?}");
    }
}
