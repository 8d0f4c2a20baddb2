//! Whatever names are in the folder.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use tach_pipeline::{Names, Pipeline, Rotation, Sink};
use test_support::users::{STRANGER, can_be_others, give};

use super::{SECRET, entries, fill, wait_until};
use crate::support::Folder;

/// What a name may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    Own,
    /// A file of another user, which only root can make.
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
    let count = prop_oneof![6 => Just(String::new()), 2 => "\\.[1-9]", 1 => "\\.[0-9]{1,11}"];
    let time = (day, hour, part(6), zone, count, end);
    let name = prop_oneof![
        8 => (time, 0..8).prop_map(|((day, hour, micros, zone, count, end), kind)| match kind {
            0 => format!("app.log-{day}{count}{end}"),
            1 => format!("app.log-{day}{}{count}{end}", hour.get(..2).unwrap_or_default()),
            2 => format!("app-{}{count}.log{end}", with_hyphens(&day)),
            3 => format!("app.log{count}{end}"),
            _ => format!("app.log.{day}T{hour}.{micros}{zone}{count}{end}"),
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

fn with_hyphens(day: &str) -> String {
    let part = |range| day.get(range).unwrap_or_default();
    format!("{}-{}-{}", part(0..4), part(4..6), part(6..8))
}

/// Returns whether a rotation of `app.log` gives files such a name.
fn is_given_by_rotation(name: &str, names: Names) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let is_number =
        |text: &str| text.parse().is_ok_and(|it: u32| it < 1_000_000_000 && it.to_string() == text);
    let is_count = |text: &str| is_number(text) && text != "0";
    let stem = match names {
        Names::Numbers => return name.strip_prefix("app.log.").is_some_and(is_count),
        Names::Dates => name.strip_prefix("app.log-"),
        Names::DatesBeforeExtension => {
            name.strip_prefix("app-").and_then(|name| name.strip_suffix(".log"))
        }
        _ => name.strip_prefix("app.log."),
    };
    let Some(stem) = stem else { return false };
    let stem = match stem.rsplit_once('.') {
        Some((stem, count)) if is_count(count) => stem,
        _ => stem,
    };
    let is_like = |pattern: &str| {
        stem.chars().count() == pattern.len()
            && stem.chars().zip(pattern.chars()).all(|(found, wanted)| match wanted {
                'd' => found.is_ascii_digit(),
                wanted => found == wanted,
            })
    };
    // The time must exist: no month 13.
    let exists = |text: String| text.parse::<tach_core::UnixTime>().is_ok();
    match names {
        Names::Dates if is_like("dddddddd") => exists(with_hyphens(stem) + "T00:00:00Z"),
        Names::Dates if is_like("dddddddddd") => {
            exists(format!("{}T{}:00:00Z", with_hyphens(&stem[..8]), &stem[8..]))
        }
        Names::DatesBeforeExtension if is_like("dddd-dd-dd") => exists(format!("{stem}T00:00:00Z")),
        Names::DatesBeforeExtension => is_like("dddd-dd-ddTdd") && exists(format!("{stem}:00:00Z")),
        Names::Times => ["Z", "+dddd", "-dddd"].iter().any(|zone| {
            is_like(&format!("ddddddddTdddddd.dddddd{zone}")) && {
                let zone = match *zone {
                    "Z" => "Z".to_owned(),
                    _ => format!("{}:{}", &stem[22..25], &stem[25..]),
                };
                let [hour, minute, second] = [&stem[9..11], &stem[11..13], &stem[13..22]];
                exists(format!("{}T{hour}:{minute}:{second}{zone}", with_hyphens(&stem[..8])))
            }
        }),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn whatever_is_in_the_folder_only_own_old_files_are_deleted(
        names in names(),
        kind in prop_oneof![
            3 => Just(Names::Times),
            1 => Just(Names::Dates),
            1 => Just(Names::DatesBeforeExtension),
            1 => Just(Names::Numbers),
        ],
    ) {
        let is_root = can_be_others("a part of whatever_is_in_the_folder");
        // A thread of the case before may still be at work in its folder.
        let folder = Folder::new(&format!("names-{kind:?}"));
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
                // A part of a compressed file.
                Some(part) => {
                    part.strip_suffix(".gz").is_some() && is_given_by_rotation(part, kind)
                }
                None => is_given_by_rotation(name, kind),
            };
            if !(is_own && is_old) {
                staying.push(name.clone());
            }
        }
        let log = folder.path("app.log");
        let rotation = Rotation::new().max_bytes(64 * 1024).keep(0).names(kind);
        let guard = Pipeline::builder().sink(Sink::file(&log).rotate(rotation)).build().unwrap();
        fill(guard.pipeline(), "1");
        fill(guard.pipeline(), "2");
        // All own old files are deleted.
        let is_own_and_old = |name: &String| is_given_by_rotation(name, kind) && !staying.contains(name);
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
