//! What becomes of a file and of its old files.

use std::fs;
use std::io::Write as _;

use tach_sinks::{File, Names, Rotation, SyncPolicy};

use crate::Folder;

#[test]
fn a_record_ends_with_its_line_or_a_flush() {
    let folder = Folder::new("record");
    let mut writer = File::new(folder.log()).open().unwrap();
    write!(writer, "one {}", 1).unwrap();
    assert_eq!(folder.read("app.log"), "");
    writeln!(writer, " of two parts\nand two lines").unwrap();
    assert_eq!(folder.read("app.log"), "one 1 of two parts\nand two lines\n");
    write!(writer, "flushed").unwrap();
    writer.flush().unwrap();
    write!(writer, ", dropped").unwrap();
    drop(writer);
    assert_eq!(folder.read("app.log"), "one 1 of two parts\nand two lines\nflushed, dropped");
}

#[test]
fn a_file_is_rotated_when_it_is_opened_and_few_old_files_are_kept() {
    let folder = Folder::new("start");
    let rotation = Rotation::new().at_start().names(Names::Numbers).keep(2);
    for number in 0..5 {
        let mut writer = File::new(folder.log()).rotate(rotation).open().unwrap();
        writeln!(writer, "{number}").unwrap();
    }
    assert_eq!(folder.names(), ["app.log", "app.log.1", "app.log.2"]);
    assert_eq!(["app.log", "app.log.1"].map(|name| folder.read(name)), ["4\n", "3\n"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_is_deleted_or_moved_is_replaced() {
    let folder = Folder::new("moved");
    let mut writer = File::new(folder.log()).sync(SyncPolicy::Every).open().unwrap();
    writeln!(writer, "one").unwrap();
    fs::remove_file(folder.log()).unwrap();
    writeln!(writer, "two").unwrap();
    assert_eq!(folder.read("app.log"), "two\n");
    drop(writer);
    let mut writer = File::new(folder.log()).keep_open().open().unwrap();
    fs::rename(folder.log(), folder.0.join("old")).unwrap();
    writeln!(writer, "three").unwrap();
    assert_eq!(folder.read("old"), "two\nthree\n");
}

#[test]
fn what_can_not_work_is_a_fault() {
    let folder = Folder::new("faults");
    let open = |file: File| file.open().unwrap_err().to_string();
    let file = || File::new(folder.log());
    let rotation = Rotation::new().max_bytes(1);
    let both = open(file().mode(0o1000).rotate(rotation));
    assert_eq!(both.lines().count(), 2, "{both}");
    assert!(both.contains("app.log\").mode(0o1000): ") && both.contains("max_bytes(1)"), "{both}");
    assert!(folder.names().is_empty());
    fs::write(folder.log(), "").unwrap();
    assert!(open(File::new(folder.log().join("below"))).contains("app.log"));
}
