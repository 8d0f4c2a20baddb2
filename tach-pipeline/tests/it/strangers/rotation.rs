//! Rotations, and the names of archives.

use core::mem;
use std::env;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
#[cfg(feature = "gzip")]
use std::process::Command;
use std::sync::{Arc, Mutex};

use tach_pipeline::{Incident, Pipeline, Sink, Task};
use test_support::users::{Copy, SERVICE, STRANGER, can_be_others, give, set_mode};

use super::{FOLDER, SECRET, SHARED, entries, fill, rotations, shared, wait_until};
use crate::support::{Folder, LONG};

/// Which start of the service it is.
const START: &str = "TACH_PIPELINE_STRANGERS_START";
/// A name that a rotation gives.
const OLD: &str = "app.log.20200101T000000.000000Z";

/// Returns whether the service's old files are as few as the last rotation keeps, and compressed.
fn is_tidy(folder: &Path, user: u32) -> bool {
    let entries = entries(folder);
    let is_own = |name: &str, owner| {
        owner == user && name.starts_with("app.log.20") && !name.starts_with("app.log.2018")
    };
    let own: Vec<_> = entries.iter().filter(|(name, owner, _)| is_own(name, *owner)).collect();
    let end = if cfg!(feature = "gzip") { "Z.gz" } else { "Z" };
    own.len() == 3 && own.iter().all(|(name, ..)| name.ends_with(end))
}

/// Lays what an attacker would: names of archives that are links, or the attacker's own.
fn lay_traps(folder: &Path, victim: &Path) {
    let path = |name: &str| folder.join(name);
    fs::write(path(OLD), "hi\n").unwrap();
    symlink(victim, path(&format!("{OLD}.gz.part"))).unwrap();
    symlink(victim, path(&OLD.replace("2020", "2019"))).unwrap();
    fs::write(path(&format!("{}.gz.part", OLD.replace("2020", "2019"))), "").unwrap();
    fs::hard_link(victim, path(&OLD.replace("2020", "2018"))).unwrap();
    fs::write(path(&format!("{}.gz", OLD.replace("2020", "2017"))), "theirs").unwrap();
    fs::create_dir(path(&OLD.replace("2020", "2016"))).unwrap();
    for (name, ..) in entries(folder) {
        if !name.starts_with("app.log.2018") {
            give(&path(&name), STRANGER);
        }
    }
    // A file of the service, which it has yet to compress.
    fs::write(path(&OLD.replace("2020", "2021")), "old\n").unwrap();
    give(&path(&OLD.replace("2020", "2021")), SERVICE);
    symlink(victim, path(&format!("{}.gz.part", OLD.replace("2020", "2021")))).unwrap();
}

#[test]
fn root_does_not_rotate_where_others_may_write() {
    if !can_be_others("root_does_not_rotate_where_others_may_write") {
        return;
    }
    let folder = Folder::new("root-shared");
    let victim = folder.path("victim");
    for rotation in rotations() {
        for kind in SHARED {
            fs::write(&victim, SECRET).unwrap();
            let path = shared(&folder, kind);
            lay_traps(&path, &victim);
            let before = entries(&path);
            let log = path.join("app.log");
            // A service that moved its log here starts, and its operator learns what to do.
            let told = Arc::new(Mutex::new(Vec::new()));
            let note = Arc::clone(&told);
            let guard = Pipeline::builder()
                .on_incident(move |incident| {
                    assert!(matches!(incident, Incident::Failed { task: Task::Rotate, .. }));
                    note.lock().unwrap().push(incident.to_string());
                })
                .sink(Sink::file(&log).rotate(rotation))
                .build()
                .expect(kind.0);
            let [text] = &*mem::take(&mut *told.lock().unwrap()) else { panic!() };
            assert!(text.contains(&path.display().to_string()), "{text}");
            assert!(
                text.contains("may write the folder") && text.contains("a new one in it"),
                "{text}"
            );
            (0..6).for_each(|number| fill(guard.pipeline(), &number.to_string()));
            guard.pipeline().rotate();
            fill(guard.pipeline(), "asked");
            drop(guard);
            let mut after = entries(&path);
            after.retain(|(name, ..)| name != "app.log");
            assert!(after == before && fs::read_to_string(&victim).unwrap() == SECRET);
            assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 7);
            fs::remove_dir_all(path).unwrap();
        }
    }
}

/// Not a test: the service, which rotates in one of these ways at each of its starts.
#[test]
#[ignore = "the child of the next test"]
fn service() {
    let (Some(folder), Ok(start)) = (env::var_os(FOLDER), env::var(START)) else { return };
    let folder = Path::new(&folder);
    let build = |rotation| {
        let sink = Sink::file(folder.join("app.log")).rotate(rotation);
        Pipeline::builder().on_incident(|_| {}).sink(sink).build().unwrap()
    };
    let Some(rotation) =
        start.parse().ok().and_then(|start: usize| rotations().get(start).copied())
    else {
        #[cfg(feature = "gzip")]
        {
            let guard = build(tach_pipeline::Rotation::new().max_bytes(64 * 1024).gzip());
            // The trap at its compressed file is found, and reported at the next rotation.
            let old = folder.join(OLD.replace("2020", "2021"));
            // The youngest are compressed first, so there must be a pause for the trap.
            let is_left = |(name, user, _): &(String, u32, Vec<u8>)| {
                *user == SERVICE && name.starts_with("app.log.2") && name.ends_with('Z')
            };
            wait_until(|| {
                fill(guard.pipeline(), "first");
                wait_until(|| entries(folder).iter().filter(|it| is_left(it)).count() <= 2);
                guard.pipeline().stats().sinks()[0].failures() > 0 || !old.exists()
            });
        }
        return;
    };
    let guard = build(rotation);
    (0..6).for_each(|number| fill(guard.pipeline(), &number.to_string()));
    let is_last = start == (rotations().len() - 1).to_string();
    wait_until(|| !is_last || is_tidy(folder, SERVICE));
}

#[test]
fn a_service_touches_no_file_of_others_in_a_shared_folder() {
    if !can_be_others("a_service_touches_no_file_of_others_in_a_shared_folder") {
        return;
    }
    let folder = Folder::new("service-shared");
    set_mode(&folder.path(""), 0o755);
    let victim = folder.path("victim");
    let copy = Copy::new("strangers", false);
    for (name, owner, mode) in SHARED {
        // The group of the service shares the folder.
        fs::write(&victim, SECRET).unwrap();
        give(&victim, SERVICE);
        set_mode(&victim, 0o600);
        let path = shared(&folder, (name, owner, mode));
        std::os::unix::fs::chown(&path, None, Some(SERVICE)).unwrap();
        set_mode(&path, mode | 0o020);
        lay_traps(&path, &victim);
        let before = entries(&path);
        for start in ["first", "0", "1"] {
            let mut service = copy.test_as(SERVICE, "strangers::rotation::service");
            let output = service.env(FOLDER, &path).env(START, start).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}, {start}: {text}");
        }
        let after = entries(&path);
        for trap in before.iter().filter(|(name, ..)| *name != OLD.replace("2020", "2021")) {
            assert!(after.contains(trap), "{name}: {} was touched", trap.0);
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), SECRET, "{name}");
        // The service rotates, compresses and deletes its own files.
        assert!(is_tidy(&path, SERVICE), "{name}: {after:?}");
        assert!(!after.iter().any(|(_, _, text)| {
            let mut plain = String::new();
            let gzip = flate2::read::GzDecoder::new(&text[..]).read_to_string(&mut plain);
            gzip.is_ok() && plain.contains(SECRET)
        }));
        fs::remove_dir_all(path).unwrap();
    }
}

/// Whoever changed the mode or the owner knows why.
#[test]
fn a_new_file_and_an_archive_keep_the_mode_and_the_owner() {
    for (mode, is_given) in [(0o600, false), (0o664, false), (0o640, true)] {
        if is_given && !can_be_others("a_new_file_and_an_archive_keep_the_owner") {
            return;
        }
        for rotation in rotations() {
            let folder = Folder::new("access");
            let log = folder.path("app.log");
            fs::write(&log, "").unwrap();
            set_mode(&log, mode);
            if is_given {
                std::os::unix::fs::chown(&log, Some(SERVICE), Some(STRANGER)).unwrap();
            }
            let access = || {
                let files = fs::read_dir(folder.path("")).unwrap();
                let files = files.map(|file| file.unwrap().metadata().unwrap());
                files.map(|it| (it.mode() & 0o7777, it.uid(), it.gid())).collect::<Vec<_>>()
            };
            let first = access()[0];
            let guard = Pipeline::builder().sink(Sink::file(&log).rotate(rotation)).build();
            let guard = guard.unwrap();
            (0..3).for_each(|number| fill(guard.pipeline(), &number.to_string()));
            // The same holds for a file that somebody else moved.
            fs::rename(&log, folder.path("moved")).unwrap();
            guard.pipeline().reopen();
            guard.pipeline().flush(LONG).unwrap();
            let is_done = |(name, ..): &(String, u32, Vec<u8>)| {
                rotation == rotations()[0]
                    || !name.starts_with("app.log.")
                    || name.ends_with("Z.gz")
            };
            wait_until(|| entries(&folder.path("")).iter().all(is_done));
            assert_eq!(access(), [first; 4], "{mode:o}");
        }
    }
}

/// A rotation waits for nobody: not for a FIFO in the place of an old file.
#[cfg(feature = "gzip")]
#[test]
fn a_fifo_in_the_place_of_an_old_file_stops_nothing() {
    let folder = Folder::new("old-fifo");
    let fifo = folder.path(OLD);
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let rotation = *rotations().last().unwrap();
    let sink = Sink::file(folder.path("app.log")).rotate(rotation);
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    (0..6).for_each(|number| fill(guard.pipeline(), &number.to_string()));
    let gzips = || entries(&folder.path("")).iter().filter(|it| it.0.ends_with("Z.gz")).count();
    wait_until(|| gzips() == 3);
    assert!(fifo.exists());
}
