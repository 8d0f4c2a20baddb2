use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{env, fs, process};

use tach_record::keep::Piece;

use super::*;
use crate::file::image::tests::{RECORDS, SPANS, image, message};
use crate::file::layout::lane;
use crate::file::recovery::DeadFiles;
use tach_record::frame::Frame;

/// Lets one test run at a time: their files have the same ids, and a process uses an id once at a
/// time.
static ALONE: Mutex<()> = Mutex::new(());

/// A folder with the files of dead processes, which disappears with the value.
/// The flag says whether recordings can be written.
struct Folder(PathBuf, bool, #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

/// What was passed on.
#[derive(Default)]
struct Passed {
    messages: Vec<String>,
    /// How many pieces, with the reports and the batches.
    pieces: usize,
    /// How many spans flight recorders had kept.
    items: usize,
}

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tach-dead-{}-{name}", process::id()));
        let _left_behind = fs::remove_dir_all(&path);
        drop(PrivateFolder::make(&path).unwrap());
        Self(path, true, ALONE.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a file whose words are changed.
    fn add(&self, id: u64, changes: &[(usize, u64)]) -> PathBuf {
        let mut bytes = image().0.clone();
        for (at, value) in changes {
            bytes[*at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        let path = self.0.join(owner::name(1, id));
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn find(&self) -> Found {
        find(&Arc::new(PrivateFolder::make(&self.0).unwrap()), &mut []).unwrap()
    }

    /// Passes everything on, but leaves what comes after `most` items to a later process.
    fn recover_some(&self, most: usize) -> Passed {
        let mut recovery = DeadFiles::new(self.find().dead, Vec::new());
        let mut passed = Passed::default();
        let skipped = recovery.recordings(&mut |recording| {
            (recording.items)(&mut |words, records| {
                passed.items += usize::from(!words.is_empty() && !records.is_empty());
            });
            self.1
        });
        assert!(skipped.is_empty());
        let next = |recovery: &mut DeadFiles| {
            let left = recovery.next(UnixTime::EPOCH);
            left.unwrap_or_else(|skipped| panic!("{skipped:?}"))
        };
        for _ in 0..most {
            let Some(left) = next(&mut recovery) else { break };
            passed.pieces += 1;
            if let Piece::Record(record, _) = left {
                passed.messages.push(Frame::read(&record).unwrap().message.to_owned());
            }
        }
        recovery.mark();
        assert!(recovery.note().is_empty());
        passed
    }

    fn recover(&self) -> Passed {
        self.recover_some(usize::MAX)
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

/// A log contains the records that another process has passed on.
#[test]
fn records_that_were_passed_on_are_left_out() {
    let folder = Folder::new("taken");
    folder.add(3, &[]);
    let mut all = Vec::new();
    // The first call passes on only the report, which comes before the records.
    for most in [1, 8, 70, 70, usize::MAX] {
        all.extend(folder.recover_some(most).messages);
    }
    assert_eq!(all, expected());
}

/// The items of a flight recorder are passed on once, or stay until they can be written. The
/// records are passed on once, even so. A process that had stored that it exits leaves no items.
#[test]
fn the_recording_of_a_process_that_was_killed_is_passed_on() {
    let mut folder = Folder::new("recordings");
    for (id, changes, spans) in [
        (3, &[][..], SPANS),
        (4, &[(head::TAKEN, 99)], SPANS),
        (5, &[(head::TAKEN, u64::MAX)], 0),
        (6, &[(head::RECORDED_AGE, 0)], 0),
    ] {
        let path = folder.add(id, changes);
        for is_written in [false, true] {
            folder.1 = is_written;
            let passed = folder.recover();
            assert_eq!(passed.items as u64, spans, "{id}");
            assert_eq!(passed.pieces == 0, is_written || id == 5, "{id}: {}", passed.pieces);
            assert_eq!(path.exists(), spans > 0 && !is_written, "{id}");
        }
    }
}

/// A file that can't be read is reported once, and prevents no start. The newest few stay.
#[test]
fn files_that_can_not_be_read_are_set_aside() {
    let folder = Folder::new("errors");
    for id in 1..=8 {
        let (changes, wanted) = match id % 3 {
            1 => ([(head::VERSION, 99); 2], "another version of tach-pipeline"),
            2 => ([(lane::of(1) + lane::BATCH, 98); 2], "damaged"),
            _ => ([(lane::of(1) + lane::CAPACITY, 99); 2], "damaged"),
        };
        let path = folder.add(id, &changes);
        let skipped = folder.find().skipped;
        let [(name, why)] = &skipped[..] else { panic!("{id}: {skipped:?}") };
        assert!(why.to_string().contains(wanted) && path.ends_with(name), "{name:?}: {why}");
        assert!(folder.find().skipped.is_empty(), "{id} is read again");
    }
    let mut names: Vec<_> =
        fs::read_dir(&folder.0).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    let expected = (5..=8).map(|id| owner::name(1, id).into_string().unwrap() + ".aside");
    assert!(names.iter().eq(&expected.map(OsString::from).collect::<Vec<_>>()), "{names:?}");
}

/// Records in a cut file may be torn, wherever it was cut and whatever its length is by now.
#[test]
fn a_file_that_was_cut_is_set_aside() {
    let folder = Folder::new("cut");
    for (id, is_long, cut) in [(1, true, 4_096), (2, false, 4_096), (3, true, 0)] {
        let path = folder.add(id, &[]);
        let file = fs::File::options().write(true).open(path).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(length - cut).unwrap();
        if is_long {
            file.set_len(length).unwrap();
        }
        let found = folder.find();
        assert_eq!(found.skipped.len(), usize::from(cut > 0), "{id}: {:?}", found.skipped);
        assert_eq!(found.dead.len(), usize::from(cut == 0), "{id}");
    }
}

/// The oldest files are given up, and their records are counted.
#[test]
fn few_files_stay_and_the_others_are_counted() {
    let folder = Folder::new("many");
    (0..7).for_each(|id| drop(folder.add(id, &[(head::STARTED, 100 - id)])));
    let found = folder.find();
    let left: Vec<_> = found.dead.iter().map(|dead| owner::id_of(&dead.name).unwrap()).collect();
    assert_eq!(left, [3, 2, 1, 0]);
    // Each file has its records and the two events of a batch.
    assert_eq!(
        (found.surplus.iter().map(|(_, lost)| lost).sum::<u64>(), found.surplus.len()),
        (3 * (RECORDS as u64 + 2), 3)
    );
    let folder_of = PrivateFolder::make(&folder.0).unwrap();
    found.surplus.iter().for_each(|(name, _)| give_up(&folder_of, name).unwrap());
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 4);
}

/// Few files are mapped at a time, since a process may have only so many mappings.
#[test]
fn any_number_of_files_is_found() {
    let folder = Folder::new("hundred");
    (0..100).for_each(|id| drop(folder.add(id, &[])));
    let found = folder.find();
    assert!(found.skipped.is_empty(), "{:?}", found.skipped);
    assert_eq!((found.dead.len(), found.surplus.len()), (MOST_FILES, 100 - MOST_FILES));
}

/// Otherwise the files of processes that had written everything would displace those of others.
#[test]
fn files_of_no_use_do_not_count() {
    let folder = Folder::new("idle");
    let waits = folder.add(7, &[]);
    let idle = [(head::RINGS, 0), (lane::of(1) + lane::BATCH, 0), (head::RECORDED_AGE, 0)];
    for id in 0..=MOST_FILES as u64 {
        let newer = (head::STARTED, UnixTime::now().as_nanos());
        folder.add(id, &[&idle[..], &[newer]].concat());
    }
    let found = folder.find();
    assert_eq!((found.dead.len(), found.surplus.len(), found.skipped.len()), (1, 0, 0));
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    assert!(waits.exists());
}

/// Somebody cuts a file while its records are passed on, in the middle of a page: a part of the
/// page is still there, and the rest reads as zeros.
#[test]
fn a_file_that_is_cut_meanwhile_is_passed_on_no_further() {
    for is_long in [false, true] {
        let folder = Folder::new("meanwhile");
        let path = folder.add(7, &[]);
        let mut recovery = DeadFiles::new(folder.find().dead, Vec::new());
        let mut messages = Vec::new();
        let mut next = || match recovery.next(UnixTime::EPOCH) {
            Ok(Some(Piece::Record(record, _))) => {
                messages.push(Frame::read(&record).unwrap().message.to_owned());
                Ok(())
            }
            Ok(Some(_)) => Ok(()),
            Ok(None) => panic!("the file ended"),
            Err((_, why)) => Err(why),
        };
        (0..10).for_each(|_| next().unwrap());
        let file = fs::File::options().write(true).open(&path).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(length / 2 + 100).unwrap();
        if is_long {
            file.set_len(length).unwrap();
        }
        let why = loop {
            if let Err(why) = next() {
                break why;
            }
        };
        assert!(why.to_string().contains("damaged"), "{why}");
        assert!(expected().starts_with(&messages), "{messages:?}");
        assert!(path.exists() && recovery.next(UnixTime::EPOCH).unwrap().is_none());
    }
}

/// Neither a readable file nor one of another version is touched.
#[test]
fn the_file_of_another_program_is_left_to_it() {
    let folder = Folder::new("programs");
    let name = u64::from_ne_bytes(*b"another ");
    folder.add(1, &[(head::NAME, name)]);
    folder.add(2, &[(head::NAME, name), (head::VERSION, 99)]);
    let found = folder.find();
    assert!(found.dead.is_empty() && found.skipped.is_empty(), "{:?}", found.skipped);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2);
}

/// The place of a ring without blocks is not checked, and a file may be damaged.
#[test]
fn nothing_is_written_at_the_place_of_a_ring_without_blocks() {
    let folder = Folder::new("place");
    let entry = ring::AT;
    let place = 1 << 24;
    let path = folder.add(7, &[(entry + ring::START, place), (entry + ring::LENGTH, 0)]);
    let bytes = fs::metadata(&path).unwrap().len();
    assert!(bytes < place);
    drop(folder.find());
    assert_eq!(fs::metadata(&path).unwrap().len(), bytes);
}
