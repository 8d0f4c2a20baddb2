//! Receivers that fail for a while.

use core::time::Duration;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};
use std::thread;

use tach_sinks::{File, Incident, Names, Rotation, Task, Writer};
use test_support::users::{Copy, STRANGER, can_be_others, set_mode};

use crate::Folder;

/// Collects what the writer reports.
fn said(writer: Writer) -> (Writer, Arc<Mutex<Vec<String>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&said);
    let writer = writer.on_incident(move |incident| {
        let task = match incident {
            Incident::Failed { task, .. } => format!("{task:?} fails: {incident}"),
            Incident::Recovered { task, .. } => format!("{task:?}: {incident}"),
            other => other.to_string(),
        };
        all.lock().unwrap().push(task);
    });
    (writer, said)
}

#[test]
fn a_full_disk_keeps_records_waiting_and_loses_those_beyond_the_room() {
    let (mut writer, said) = said(File::new("/dev/full").open().unwrap());
    let record = format!("{:x>1023}\n", "");
    let all = 1500;
    let mut refused = 0;
    for _ in 0..all {
        refused += u64::from(writer.write_all(record.as_bytes()).is_err());
    }
    assert_eq!((refused, writer.lost()), (all - 1024, all - 1024));
    let error = writer.flush().unwrap_err().to_string();
    assert!(error.contains("/dev/full") && error.contains("o space"), "{error}");
    drop(writer);
    let said = said.lock().unwrap();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("Write fails: can't write records: No space"), "{said:?}");
    assert!(said[0].ends_with("1024 bytes wait"), "{said:?}");
}

/// The folder of the file is gone, and comes back.
#[test]
fn records_that_waited_are_written_in_their_order() {
    let folder = Folder::new("waited");
    let path = folder.0.join("logs").join("app.log");
    let (mut writer, said) = said(File::new(&path).open().unwrap());
    writeln!(writer, "one").unwrap();
    let logs = folder.0.join("logs");
    fs::remove_dir_all(&logs).unwrap();
    // No folder can be made where a link leads nowhere.
    symlink("nowhere", &logs).unwrap();
    writeln!(writer, "two").unwrap();
    writeln!(writer, "three").unwrap();
    assert!(writer.flush().is_err() && writer.lost() == 0);
    fs::remove_file(&logs).unwrap();
    drop(writer);
    assert_eq!(folder.read("logs/app.log"), "two\nthree\n");
    let said = said.lock().unwrap();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].starts_with("Write: can write records again"), "{said:?}");
}

#[test]
fn a_rotation_that_fails_loses_nothing() {
    if can_be_others("a_rotation_that_fails_loses_nothing") {
        let copy = Copy::new("refused", false);
        let status = copy.test_as(STRANGER, "failures::a_folder_refuses_new_names").status();
        assert!(status.unwrap().success());
    }
}

#[test]
#[ignore = "the test above starts it, as a user to whom the rights apply"]
fn a_folder_refuses_new_names() {
    let folder = Folder::new("refused");
    let rotation = Rotation::new().max_bytes(64 * 1024).names(Names::Numbers);
    let (mut writer, said) = said(File::new(folder.log()).rotate(rotation).open().unwrap());
    let record = format!("{:x>1023}\n", "");
    for (mode, records) in [(0o755, 60), (0o555, 60)] {
        set_mode(&folder.0, mode);
        (0..records).for_each(|_| writer.write_all(record.as_bytes()).unwrap());
    }
    set_mode(&folder.0, 0o755);
    assert_eq!(folder.names(), ["app.log"]);
    assert_eq!(folder.read("app.log").len(), 120 * 1024);
    let is_rotate = |line: &String| line.starts_with(&format!("{:?} fails", Task::Rotate));
    assert!(said.lock().unwrap().iter().all(is_rotate));
    // The pause after a failure.
    thread::sleep(Duration::from_millis(1_100));
    writer.write_all(record.as_bytes()).unwrap();
    assert_eq!(folder.read("app.log.1").len(), 120 * 1024);
    assert_eq!(folder.read("app.log").len(), 1024);
    let said = said.lock().unwrap();
    assert_eq!(said.last().unwrap(), "Rotate: can rotate the file again");
}
