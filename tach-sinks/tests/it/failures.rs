//! Receivers that fail for a while.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use tach_sinks::{File, Incident, Names, Rotation, Task, Writer};

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

/// A name that is taken by another user's file, or by a folder, refuses the rotation.
#[test]
fn a_rotation_that_fails_loses_nothing() {
    let folder = Folder::new("refused");
    let rotation = Rotation::new().max_bytes(64 * 1024).names(Names::Numbers);
    let file = File::new(folder.log()).rotate(rotation);
    let (mut writer, said) = said(file.open().unwrap());
    // A folder that is no longer there can't take the old file.
    let moved = folder.0.with_extension("moved");
    let record = format!("{:x>1023}\n", "");
    for _ in 0..60 {
        writer.write_all(record.as_bytes()).unwrap();
    }
    fs::rename(&folder.0, &moved).unwrap();
    symlink(&moved, &folder.0).unwrap();
    for _ in 0..60 {
        writer.write_all(record.as_bytes()).unwrap();
    }
    fs::remove_file(&folder.0).unwrap();
    fs::rename(&moved, &folder.0).unwrap();
    assert_eq!(folder.read("app.log").len(), 120 * 1024);
    let is_rotate = |line: &String| line.starts_with(&format!("{:?} fails", Task::Rotate));
    let said = said.lock().unwrap();
    assert!(said.iter().any(is_rotate), "{said:?}");
}
