//! The example `journald` writes to its stderr unless systemd has connected stderr to the journal.
//! What the journal receives is tested with the sink.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;

use crate::example;
use crate::folder::Folder;

#[test]
fn another_streams_variable_is_not_ours() {
    let folder = Folder::new("journald");
    let path = folder.path.join("stderr");
    for is_named in [false, true] {
        let file = File::create(&path).unwrap();
        let status = file.metadata().unwrap();
        let device = if is_named { status.dev() } else { status.dev() + 1 };
        // The journal is no file: where the variable names one, nobody may listen.
        if is_named && fs::exists("/run/systemd/journal/socket").unwrap() {
            continue;
        }
        let mut example = example("journald");
        example.env("JOURNAL_STREAM", format!("{device}:{}", status.ino())).env_remove("RUST_LOG");
        assert!(example.stderr(file).status().unwrap().success());
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("ready port=3000"), "{text:?}");
    }
}
