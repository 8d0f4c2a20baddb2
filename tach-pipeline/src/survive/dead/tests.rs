use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{env, fs, process};

use super::*;
use crate::back_end::survival::Recovery as _;
use crate::frame::Frame;
use crate::survive::image::tests::{RECORDS, image, message, repair};
use crate::survive::layout::table;
use crate::survive::recovery::DeadFiles;

/// Files have the same numbers in all tests, and a process uses a number once at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A folder with the files of dead processes, which disappears with the value.
struct Folder(PathBuf, #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

/// What was passed on.
#[derive(Default)]
struct Passed {
    messages: Vec<String>,
    recordings: usize,
}

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tach-dead-{}-{name}", process::id()));
        let _left_behind = fs::remove_dir_all(&path);
        drop(PrivateFolder::make(&path).unwrap());
        Self(path, ALONE.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a file whose words are changed.
    fn add(&self, id: u64, changes: &[(usize, u64)]) -> PathBuf {
        let mut bytes = image().0.clone();
        for (at, value) in [(head::ID, id)].iter().chain(changes) {
            bytes[*at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        let path = self.0.join(own::name(1, id));
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// Adds a file, and one of a process that passed 100 of its records on.
    fn add_claim(&self) {
        self.add(3, &[(head::STARTED, 1)]);
        self.add(4, &[(head::STARTED, 2)]);
        self.claim(4, 3);
    }

    /// Lets a file say that its process passed 100 of the records of another one on.
    fn claim(&self, id: u64, of: u64) {
        let path = self.0.join(own::name(1, id));
        let mut bytes = fs::read(&path).unwrap();
        for number in 0..2 {
            let at = table::AT + number * table::BYTES;
            for (word, value) in [(table::TAKES, of), (table::TAKEN, 101)] {
                bytes[at + word..][..8].copy_from_slice(&value.to_ne_bytes());
            }
        }
        repair(&mut bytes);
        fs::write(path, bytes).unwrap();
    }

    fn find(&self) -> Found {
        find(&Arc::new(PrivateFolder::make(&self.0).unwrap()), &mut []).unwrap()
    }

    /// Passes everything on.
    fn recover(&self) -> Passed {
        let mut recovery = DeadFiles::new(self.find().dead, Vec::new());
        let mut passed = Passed::default();
        let next = |recovery: &mut DeadFiles| {
            let left = recovery.next(UnixTime::EPOCH);
            left.unwrap_or_else(|skipped| panic!("{skipped:?}"))
        };
        while let Some(left) = next(&mut recovery) {
            if let Some((record, _)) = left.record {
                passed.messages.push(Frame::read(&record).unwrap().message.to_owned());
            }
            if left.is_end {
                recovery.end().unwrap();
            }
        }
        passed.recordings = recovery.recordings.len();
        passed
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn expected() -> Vec<String> {
    (0..RECORDS).map(message).collect()
}

/// The records that another process has passed on are in a log.
#[test]
fn records_that_were_passed_on_are_left_out() {
    let folder = Folder::new("taken");
    // The first item is the report.
    folder.add(3, &[(head::TAKEN, 6), (head::SETTLED, 1)]);
    assert_eq!(folder.recover().messages, expected()[5..]);
}

/// Only the file of the process that was passing them on says so.
#[test]
fn records_that_another_file_claims_are_left_out() {
    let folder = Folder::new("claims");
    folder.add_claim();
    assert_eq!(folder.recover().messages, [&expected()[100..], &expected()].concat());
}

/// What a flight recorder had kept waits until all records were passed on. It is not kept of a
/// process that had said that it ends.
#[test]
fn the_recording_of_a_process_that_was_killed_waits() {
    let folder = Folder::new("recordings");
    let taken = RECORDS as u64 + 1;
    for (id, changes, recordings) in [
        (3, &[][..], 1),
        (4, &[(head::TAKEN, taken), (head::SETTLED, 1)], 1),
        (5, &[(head::TAKEN, taken + 1), (head::SETTLED, 1)], 0),
        (6, &[(head::EXITS, 1)], 0),
    ] {
        let path = folder.add(id, changes);
        assert_eq!(folder.recover().recordings, recordings, "{id}");
        let _removed_without_a_recording = fs::remove_file(path);
    }
}

/// Another process uses the file when it is tried, and is killed before the file is tried that says
/// how many of its records were passed on. That file must not be removed before.
#[test]
fn a_file_that_claims_waits_until_the_claimed_file_is_free() {
    let folder = Folder::new("claims-later");
    folder.add_claim();
    // It also waits for a file whose claim is still to be noted.
    let path = folder.add(5, &[(head::STARTED, 3)]);
    folder.claim(5, 4);
    let found = || {
        let found = folder.find();
        (found.dead.iter().map(|dead| dead.id).collect::<Vec<_>>(), found.waiting)
    };
    let used = own::add(3).unwrap();
    assert_eq!(found(), (vec![], 2));
    drop(used);
    fs::remove_file(path).unwrap();
    assert_eq!(found(), (vec![3, 4], 0));

    // Nobody passes on a damaged file.
    folder.add(3, &[(head::CURRENT, 99)]);
    assert_eq!(found(), (vec![4], 0));
    // One that was removed has nothing left.
    fs::remove_file(folder.0.join(own::name(1, 3))).unwrap();
    assert_eq!(found(), (vec![4], 0));
}

#[test]
fn a_file_that_can_not_be_read_stays_and_says_why() {
    let folder = Folder::new("errors");
    for (id, at, value, wanted) in [
        (1, head::VERSION, 99, "another version of tach-pipeline"),
        (2, head::CURRENT, 99, "damaged"),
        (3, table::AT + table::CHECK, 99, "damaged"),
    ] {
        let path = folder.add(id, &[(at, value)]);
        let skipped = folder.find().skipped;
        let [Skipped { name, why }] = &skipped[..] else { panic!("{id}: {skipped:?}") };
        assert!(why.to_string().contains(wanted) && path.ends_with(name), "{name:?}: {why}");
        fs::remove_file(path).unwrap();
    }
}
