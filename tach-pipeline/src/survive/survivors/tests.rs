use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{env, fs, process};

use super::*;
use crate::survive::image::tests::{EVENTS, RECORDS, image, message};
use crate::survive::layout::{head, table};

/// Files have the same numbers in all tests, and a process uses a number once at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A folder with the files of dead processes, which disappears with the value.
struct Folder(PathBuf, #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tach-survivors-{}-{name}", process::id()));
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
        crate::survive::image::tests::repair(&mut bytes);
        fs::write(path, bytes).unwrap();
    }

    fn read(&self) -> Vec<Result<Survivor, Error>> {
        Survivors::read(&self.0).unwrap().collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn messages(survivor: &Survivor) -> Vec<String> {
    let mut messages = Vec::new();
    let each = survivor.each(|event| {
        messages.push(event.message().to_string());
        Ok(())
    });
    each.unwrap();
    messages
}

fn expected() -> Vec<String> {
    (0..RECORDS).map(message).collect()
}

#[test]
fn reading_changes_nothing_and_removing_does() {
    let folder = Folder::new("reads");
    let path = folder.add(3, &[]);
    let before = fs::metadata(&path).unwrap();
    for _ in 0..2 {
        let [Ok(survivor)] = &folder.read()[..] else { panic!() };
        assert_eq!(messages(survivor), expected());
        assert_eq!(survivor.records(), RECORDS as u64);
        assert_eq!((survivor.cut(), survivor.is_alive()), (0, false));
        let (sinks, events): (Vec<_>, Vec<_>) = survivor.formatted().unzip();
        assert_eq!((&sinks[..], events.concat()), (&["app.log"; 2][..], EVENTS.to_owned()));
    }
    let after = fs::metadata(&path).unwrap();
    assert_eq!(
        (before.mtime_nsec(), before.ino(), before.len()),
        (after.mtime_nsec(), after.ino(), after.len())
    );
    assert_eq!(fs::read(&path).unwrap()[head::TAKEN..][..8], [0; 8]);
    folder.read().pop().unwrap().unwrap().remove().unwrap();
    assert!(folder.read().is_empty() && !path.exists());
}

#[cfg(feature = "tracing")]
#[test]
fn open_spans_and_items_of_a_flight_recorder_are_shown() {
    use crate::survive::image::tests::SPANS;

    let folder = Folder::new("spans");
    // All of the records were passed on, and five spans.
    let taken = RECORDS as u64 + 6;
    for (id, changes, left) in [
        (3, &[][..], SPANS + 1),
        (4, &[(head::TAKEN, taken), (head::SETTLED, 1)], SPANS - 4),
        (5, &[(head::EXITS, 1)], 0),
    ] {
        let path = folder.add(id, changes);
        let [Ok(survivor)] = &folder.read()[..] else { panic!() };
        assert_eq!((survivor.spans(), survivor.spans_outside(), survivor.cut()), (left, 0, 0));
        let mut shown = Vec::new();
        let mut show = |event: &tach_log::Event<'_>| {
            let mut line = Vec::new();
            tach_log::Format::write(&tach_log::Line::new(), event, &mut line)?;
            shown.push(String::from_utf8(line).unwrap());
            Ok(())
        };
        survivor.each_span(&mut show).unwrap();
        survivor.each_recorded(&mut show).unwrap();
        let (open, ended): (Vec<_>, Vec<_>) =
            shown.iter().partition(|line| line.contains("unfinished=true"));
        let recorded = if left == 0 { 0 } else { SPANS };
        assert_eq!((open.len() as u64, ended.len() as u64), (left, recorded), "{shown:#?}");
        let is_right = |line: &&String| line.contains("span name recovered_pid=");
        assert!(shown.iter().all(|line| is_right(&line)), "{shown:#?}");
        fs::remove_file(path).unwrap();
    }
}

/// The records that another process has passed on are in a log.
#[test]
fn records_that_were_passed_on_are_left_out() {
    let folder = Folder::new("taken");
    // The first item is the report.
    folder.add(3, &[(head::TAKEN, 6), (head::SETTLED, 1)]);
    let [Ok(survivor)] = &folder.read()[..] else { panic!() };
    assert_eq!(messages(survivor), expected()[5..]);
    assert_eq!(survivor.records(), RECORDS as u64 - 5);
    assert_eq!(survivor.formatted().count(), 0);
}

/// Only the file of the process that was passing them on says so.
#[test]
fn records_that_another_file_claims_are_left_out() {
    let folder = Folder::new("claims");
    folder.add_claim();
    let [Ok(first), Ok(second)] = &folder.read()[..] else { panic!() };
    assert_eq!(messages(first), expected()[100..]);
    assert_eq!(messages(second), expected());
}

/// Otherwise the next start would pass these records on once more.
#[test]
fn what_a_file_claims_is_kept_when_it_is_removed() {
    let folder = Folder::new("claims-removed");
    folder.add_claim();
    let remove = || folder.read().pop().unwrap().unwrap().remove();
    let used = own::add(3, Use::Pipeline).unwrap();
    let error = remove().unwrap_err().to_string();
    assert!(error.contains("a pipeline of this process"), "{error}");
    drop(used);
    assert_eq!(folder.read().len(), 2);
    remove().unwrap();
    let [Ok(left)] = &folder.read()[..] else { panic!() };
    assert_eq!(messages(left), expected()[100..]);
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
        let folder = Arc::new(PrivateFolder::existing(&folder.0).unwrap());
        let found = crate::survive::dead::find(&folder, &mut []).unwrap();
        (found.dead.iter().map(|dead| dead.id).collect::<Vec<_>>(), found.waiting)
    };
    let used = own::add(3, Use::Pipeline).unwrap();
    assert_eq!(found(), (vec![], 2));
    drop(used);
    fs::remove_file(path).unwrap();
    assert_eq!(found(), (vec![3, 4], 0));
    let [Ok(first), Ok(_)] = &folder.read()[..] else { panic!() };
    assert_eq!(messages(first), expected()[100..]);

    // Nobody passes on a damaged file.
    folder.add(3, &[(head::CURRENT, 99)]);
    assert_eq!(found(), (vec![4], 0));
    // One that was removed has nothing left.
    fs::remove_file(folder.0.join(own::name(1, 3))).unwrap();
    assert_eq!(found(), (vec![4], 0));
}

/// A pipeline that is built while the program reads a file does not have its records.
#[test]
fn a_pipeline_says_that_its_process_reads_a_file() {
    let folder = Folder::new("read-by-own");
    folder.add(78, &[]);
    let found = || {
        let folder = Arc::new(PrivateFolder::existing(&folder.0).unwrap());
        crate::survive::dead::find(&folder, &mut []).unwrap()
    };
    let used = own::add(78, Use::Reader).unwrap();
    let skipped = found().skipped;
    let [skipped] = &skipped[..] else { panic!("{skipped:?}") };
    assert!(skipped.why.to_string().contains("this process reads the file"), "{skipped:?}");
    drop(used);
    assert!(found().skipped.is_empty());
}

#[test]
fn errors_say_what_is_wrong() {
    let error = |path: &Path| Survivors::read(path).unwrap_err().to_string();
    let missing = error("/there/is/no/such".as_ref());
    assert!(missing.contains("/there/is/no/such: there is no such folder"), "{missing}");

    let folder = Folder::new("errors");
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o755)).unwrap();
    let open = error(&folder.0);
    assert!(open.contains("other users have rights to the folder"), "{open}");
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700)).unwrap();

    for (id, at, value, wanted) in [
        (1, head::VERSION, 99, "another version of tach-pipeline"),
        (2, head::CURRENT, 99, "damaged"),
        (3, table::AT + table::CHECK, 99, "damaged"),
    ] {
        let path = folder.add(id, &[(at, value)]);
        let mut read = folder.read();
        let [Err(error)] = &read[..] else { panic!("{id} is no error") };
        let error = error.to_string();
        assert!(error.contains(wanted) && error.contains(path.to_str().unwrap()), "{error}");
        read.clear();
        // It stays.
        fs::remove_file(path).unwrap();
    }
}

/// An open file that is closed again would end the pipeline's lock.
#[test]
fn a_file_of_this_process_is_not_opened() {
    let folder = Folder::new("own");
    folder.add(77, &[]);
    let used = own::add(77, Use::Pipeline).unwrap();
    let [Err(error)] = &folder.read()[..] else { panic!() };
    assert!(error.to_string().contains("a pipeline of this process"), "{error}");
    drop(used);
    assert!(folder.read()[0].is_ok());
}
