//! Which records a rotated file contains, and the day in its name.

use core::time::Duration;
use std::fs;

use tach_core::{ManualClock, UnixTime};
use tach_pipeline::{Names, Pipeline, Rotation, Sink};

use crate::support::{Folder, LONG, info};

/// Returns the names in the folder with their texts, sorted.
fn files(folder: &Folder) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder.path("")).unwrap();
    let files = entries.map(|entry| entry.unwrap());
    let mut files: Vec<_> = files
        .map(|it| {
            let text = fs::read_to_string(it.path()).unwrap();
            (it.file_name().into_string().unwrap(), text)
        })
        .collect();
    files.sort();
    files
}

/// Two records, before and after midnight of the pipeline's clock, are written by one flush or by
/// two.
#[test]
fn a_file_has_the_records_of_its_day_by_the_clock_of_the_pipeline() {
    for flushes in [false, true] {
        let folder = Folder::new("rotated-days");
        let clock = Box::leak(Box::new(ManualClock::new("2026-11-27T23:59:59Z".parse().unwrap())));
        let clock = &*clock;
        let sink = Sink::file(folder.path("app.log")).rotate(Rotation::new().daily());
        let guard = Pipeline::builder().with_clock(clock).sink(sink).build().unwrap();
        for day in ["27", "28", "29"] {
            info(guard.pipeline(), &format!("early {day}"));
            clock.advance(Duration::from_millis(500));
            info(guard.pipeline(), &format!("late {day}"));
            if flushes {
                guard.pipeline().flush(LONG).unwrap();
            }
            clock.advance(Duration::from_secs(24 * 60 * 60) - Duration::from_millis(500));
        }
        guard.pipeline().flush(LONG).unwrap();
        let files = files(&folder);
        assert_eq!(files.len(), 3, "{files:?}");
        for ((name, text), day) in files.iter().zip(["29", "27", "28"]) {
            let messages: Vec<_> =
                text.lines().map(|line| line.rsplit_once(": ").unwrap().1).collect();
            assert_eq!(messages, [format!("early {day}"), format!("late {day}")], "{name}");
            let stamp = format!("app.log.202611{day}T235959.000000Z");
            assert_eq!(*name, if day == "29" { "app.log".to_owned() } else { stamp });
        }
    }
}

/// The last write of an earlier process is later than the records that it left in its queues, or
/// the clock was set back.
#[test]
fn names_sort_in_the_order_of_rotations() {
    for names in [Names::Times, Names::Dates, Names::DatesBeforeExtension] {
        for is_at_start in [false, true] {
            let folder = Folder::new("rotated-order");
            let path = folder.path("app.log");
            let now: UnixTime = "2026-11-28T00:00:00Z".parse().unwrap();
            fs::write(&path, "x".repeat(64 * 1024) + " 0\n").unwrap();
            let file = fs::File::options().append(true).open(&path).unwrap();
            file.set_modified((now + Duration::from_secs(1)).into()).unwrap();
            let clock = &*Box::leak(Box::new(ManualClock::new(now)));
            let mut rotation = Rotation::new().max_bytes(64 * 1024).names(names);
            if is_at_start {
                rotation = rotation.at_start();
            }
            let sink = Sink::file(&path).rotate(rotation);
            let guard = Pipeline::builder().with_clock(clock).sink(sink).build().unwrap();
            for number in 1..4 {
                info(guard.pipeline(), &format!("{}: {number}", "x".repeat(64 * 1024 - 100)));
                guard.pipeline().flush(LONG).unwrap();
            }
            clock.advance(Duration::from_secs(10));
            info(guard.pipeline(), &format!("{}: 4", "x".repeat(64 * 1024 - 100)));
            guard.pipeline().flush(LONG).unwrap();
            let mut files = files(&folder);
            files.retain(|(name, _)| name != "app.log");
            let last = |text: &str| text.trim_end().rsplit(' ').next().unwrap().to_owned();
            let mut found: Vec<_> = files.iter().map(|(_, text)| last(text)).collect();
            // In the other names a count is before the extension.
            if names == Names::DatesBeforeExtension {
                found.sort();
            }
            assert_eq!(found, ["0", "1", "2", "3"], "{names:?} {is_at_start} {:?}", files[0].0);
        }
    }
}
