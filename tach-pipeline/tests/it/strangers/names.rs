//! Whatever names are in the folder.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use tach_pipeline::{Pipeline, Rotation, Sink};
use test_support::users::{STRANGER, can_be_others, give};

use super::{SECRET, entries, fill, wait_until};
use crate::support::Folder;

/// What a name may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    Own,
    /// As root alone.
    Strange,
    Link,
    Folder,
    SecondName,
}

fn names() -> impl Strategy<Value = Vec<(String, Stands)>> {
    let digits = || prop_oneof![9 => "[0-9]", 1 => "[0-9a-zA-Z.:]"];
    let part = |count| proptest::collection::vec(digits(), count).prop_map(|it| it.concat());
    let end = prop_oneof![
        4 => Just(String::new()),
        2 => Just(".gz".to_owned()),
        1 => Just(".gz.part".to_owned()),
        1 => "[.a-zA-Z0-9 *?\\\\\\n-]{1,4}",
    ];
    let day = prop_oneof![
        8 => "20[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|1[0-9]|2[0-8])",
        1 => part(8),
    ];
    let hour = prop_oneof![8 => "([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]", 1 => part(6)];
    let zone = prop_oneof![
        6 => Just("Z".to_owned()),
        3 => "[+-](0[0-9]|1[0-3])[0-5][0-9]",
        1 => "[-+Z:0-9]{0,6}",
    ];
    let time = (day, hour, part(6), zone, end);
    let name = prop_oneof![
        8 => time.prop_map(|(day, hour, micros, zone, end)| {
            format!("app.log.{day}T{hour}.{micros}{zone}{end}")
        }),
        1 => "app\\.log[.a-zA-Z0-9-]{1,30}",
        1 => "[^/\0]{1,40}",
    ];
    let stands = prop_oneof![
        4 => Just(Stands::Own),
        1 => Just(Stands::Strange),
        1 => Just(Stands::Link),
        1 => Just(Stands::Folder),
        1 => Just(Stands::SecondName),
    ];
    proptest::collection::vec((name, stands), 0..20)
}

/// Returns whether a rotation of `app.log` gives files such a name.
fn is_given_by_rotation(name: &str) -> bool {
    let Some(end) = name.strip_prefix("app.log.") else { return false };
    let end = end.strip_suffix(".gz").unwrap_or(end);
    let is_like = |text: &str, pattern: &str| {
        text.chars().count() == pattern.len()
            && text.chars().zip(pattern.chars()).all(|(found, wanted)| match wanted {
                'd' => found.is_ascii_digit(),
                wanted => found == wanted,
            })
    };
    let zones = ["Z", "+dddd", "-dddd"];
    let has_zone = |zone: &&str| is_like(end, &format!("ddddddddTdddddd.dddddd{zone}"));
    // The time must exist: no month 13.
    zones.iter().any(has_zone) && {
        let zone = if end.len() == 23 {
            "Z".to_owned()
        } else {
            end[22..25].to_owned() + ":" + &end[25..]
        };
        let [year, month, day] = [&end[..4], &end[4..6], &end[6..8]];
        let [hour, minute, second] = [&end[9..11], &end[11..13], &end[13..22]];
        let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}{zone}");
        text.parse::<tach_core::UnixTime>().is_ok()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn whatever_is_in_the_folder_only_own_old_files_are_deleted(names in names()) {
        let is_root = can_be_others("a part of whatever_is_in_the_folder");
        let folder = Folder::new("names");
        let elsewhere = Folder::new("names-elsewhere");
        let mut staying = Vec::new();
        for (number, (name, stands)) in names.iter().enumerate() {
            let path = folder.path(name);
            if path.symlink_metadata().is_ok() || name == "." || name == ".." || name == "app.log" {
                continue;
            }
            let other = elsewhere.path(&number.to_string());
            fs::write(&other, SECRET).unwrap();
            match stands {
                Stands::Own | Stands::Strange => fs::write(&path, SECRET).unwrap(),
                Stands::Link => symlink(&other, &path).unwrap(),
                Stands::Folder => fs::create_dir(&path).unwrap(),
                Stands::SecondName => fs::hard_link(&other, &path).unwrap(),
            }
            let is_strange = *stands == Stands::Strange && is_root;
            if is_strange {
                give(&path, STRANGER);
            }
            let is_own = matches!(stands, Stands::Own | Stands::Strange) && !is_strange;
            let is_old = match name.strip_suffix(".part") {
                // Of a file that is not compressed yet.
                Some(part) => part.strip_suffix(".gz").is_some_and(is_given_by_rotation),
                None => is_given_by_rotation(name),
            };
            if !(is_own && is_old) {
                staying.push(name.clone());
            }
        }
        let log = folder.path("app.log");
        let rotation = Rotation::new().max_bytes(64 * 1024).keep(0);
        let pipeline = Pipeline::builder().sink(Sink::file(&log).rotate(rotation)).build().unwrap();
        fill(&pipeline, "1");
        fill(&pipeline, "2");
        // And these are.
        let is_own_and_old = |name: &String| is_given_by_rotation(name) && !staying.contains(name);
        let names_left = || entries(&folder.path("")).into_iter().map(|(name, ..)| name);
        wait_until(|| !names_left().any(|name| is_own_and_old(&name)));
        for name in &staying {
            prop_assert!(folder.path(name).symlink_metadata().is_ok(), "{name:?} is gone");
        }
        for (number, _) in names.iter().enumerate() {
            let other = fs::read_to_string(elsewhere.path(&number.to_string()));
            prop_assert!(other.is_err() || other.unwrap() == SECRET);
        }
    }
}
