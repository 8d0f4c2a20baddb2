//! Files: appended to, opened again, refused.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process;

use tach_pipeline::{Pipeline, Sink};

use crate::support::{LONG, info};

/// A new folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tach-pipeline-{name}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn messages(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.0.join(file)).unwrap();
        text.lines().map(|line| line.rsplit_once(": ").unwrap().1.to_owned()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _best_effort = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_is_appended_to_and_opened_anew_on_request() {
    let folder = Folder::new("reopen");
    let path = folder.0.join("app.log");
    fs::write(&path, "1970-01-01T00:00:00.000000Z INFO  app: earlier\n").unwrap();
    let pipeline = Pipeline::builder().sink(Sink::file(&path)).build().unwrap();
    info(&pipeline, "one");
    pipeline.flush(LONG).unwrap();
    fs::rename(&path, folder.0.join("app.log.1")).unwrap();
    info(&pipeline, "still in the old one");
    pipeline.reopen();
    pipeline.flush(LONG).unwrap();
    info(&pipeline, "in the new one");
    pipeline.flush(LONG).unwrap();
    assert_eq!(folder.messages("app.log.1"), ["earlier", "one", "still in the old one"]);
    assert_eq!(folder.messages("app.log"), ["in the new one"]);
}

#[test]
fn a_file_that_cannot_be_opened_anew_is_kept() {
    let folder = Folder::new("kept");
    let path = folder.0.join("app.log");
    let pipeline = Pipeline::builder().sink(Sink::file(&path)).build().unwrap();
    fs::rename(&path, folder.0.join("app.log.1")).unwrap();
    fs::create_dir(&path).unwrap();
    pipeline.reopen();
    pipeline.flush(LONG).unwrap();
    info(&pipeline, "not lost");
    pipeline.flush(LONG).unwrap();
    assert_eq!(folder.messages("app.log.1"), ["not lost"]);
}

#[cfg(unix)]
#[test]
fn a_new_file_is_not_for_everyone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("mode");
    let path = folder.0.join("app.log");
    let _pipeline = Pipeline::builder().sink(Sink::file(&path)).build().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o137, 0);
}

#[test]
fn paths_that_cannot_be_logged_to_are_named() {
    let folder = Folder::new("refused");
    let is_a_folder = folder.0.clone();
    let missing = folder.0.join("missing").join("app.log");
    for path in [is_a_folder, missing] {
        let error = Pipeline::builder().sink(Sink::file(&path)).build().unwrap_err();
        assert!(error.is_open());
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn files_that_are_rotated_by_another_crate_hold_whole_lines() {
    use file_rotate::suffix::AppendCount;
    use file_rotate::{ContentLimit, FileRotate, compression::Compression};
    let folder = Folder::new("rotate");
    let limit = ContentLimit::BytesSurpassed(50_000);
    let count = AppendCount::new(1_000);
    let path = folder.0.join("app.log");
    let file = FileRotate::new(path, count, limit, Compression::None, None);
    let pipeline = Pipeline::builder().sink(Sink::writer("app.log", file)).build().unwrap();
    (0..20_000).for_each(|number| info(&pipeline, &number.to_string()));
    pipeline.flush(LONG).unwrap();
    let files = fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name());
    let files: Vec<_> = files.collect();
    assert!(files.len() > 2, "{files:?}");
    let messages = files.iter().flat_map(|file| folder.messages(file.to_str().unwrap()));
    let mut numbers: Vec<u32> = messages.map(|message| message.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..20_000).collect::<Vec<_>>());
}
