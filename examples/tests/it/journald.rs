//! The example `journald` writes to the journal only if its own stderr leads there. What it writes
//! there is tested with the sink.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;

use crate::example;
use crate::folder::Folder;

/// Returns what the example writes to a file as its stderr, with a `JOURNAL_STREAM` that it
/// inherits.
fn stderr(folder: &Folder, journal_stream: impl Fn(&fs::Metadata) -> String) -> String {
    let path = folder.path.join("stderr");
    let file = File::create(&path).unwrap();
    let stream = journal_stream(&file.metadata().unwrap());
    let mut example = example("journald");
    example.env("JOURNAL_STREAM", stream).env_remove("RUST_LOG").stderr(file);
    assert!(example.status().unwrap().success());
    fs::read_to_string(path).unwrap()
}

#[test]
fn another_streams_variable_is_not_ours() {
    let folder = Folder::new("journald");
    let text = stderr(&folder, |_| "8:12345".to_owned());
    assert!(text.contains("ready port=3000"), "{text:?}");
    // The control: here stderr is the stream that the variable names.
    let text = stderr(&folder, |file| format!("{}:{}", file.dev(), file.ino()));
    assert!(!text.contains("ready port=3000"), "{text:?}");
}
