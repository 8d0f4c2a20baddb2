//! Files: appended to, opened again, refused.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::fs;
use std::thread;
use std::time::Instant;

use tach_pipeline::{Pipeline, Rotation, Sink};

use crate::support::{Folder, LONG, info};

#[test]
fn a_file_is_appended_to_and_opened_anew_on_request() {
    let folder = Folder::new("reopen");
    let path = folder.path("app.log");
    fs::write(&path, "1970-01-01T00:00:00.000000Z INFO  app: earlier\n").unwrap();
    let sink = Sink::file(&path).keep_open();
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    info(guard.pipeline(), "one");
    guard.pipeline().flush(LONG).unwrap();
    fs::rename(&path, folder.path("app.log.1")).unwrap();
    info(guard.pipeline(), "still in the old one");
    guard.pipeline().reopen();
    guard.pipeline().flush(LONG).unwrap();
    info(guard.pipeline(), "in the new one");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(folder.messages("app.log.1"), ["earlier", "one", "still in the old one"]);
    assert_eq!(folder.messages("app.log"), ["in the new one"]);
}

#[test]
fn a_file_that_cannot_be_opened_anew_is_kept() {
    let folder = Folder::new("kept");
    let path = folder.path("app.log");
    let guard = Pipeline::builder().sink(Sink::file(&path)).build().unwrap();
    fs::rename(&path, folder.path("app.log.1")).unwrap();
    fs::create_dir(&path).unwrap();
    guard.pipeline().reopen();
    guard.pipeline().flush(LONG).unwrap();
    info(guard.pipeline(), "not lost");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(folder.messages("app.log.1"), ["not lost"]);
}

/// Each try to write would take room on the disk that nobody sees.
#[cfg(unix)]
#[test]
fn a_deleted_file_whose_path_is_taken_does_not_grow() {
    let folder = Folder::new("taken");
    let path = folder.path("app.log");
    let guard = Pipeline::builder().sink(Sink::file(&path)).build().unwrap();
    let deleted = fs::File::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    info(guard.pipeline(), "not lost");
    assert!(guard.pipeline().flush(LONG).is_err());
    let length = deleted.metadata().unwrap().len();
    for _ in 0..5 {
        assert!(guard.pipeline().flush(LONG).is_err());
    }
    assert_eq!(deleted.metadata().unwrap().len(), length);
    fs::remove_dir(&path).unwrap();
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(folder.messages("app.log"), ["not lost"]);
}

#[cfg(unix)]
#[test]
fn a_new_file_is_not_for_everyone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("mode");
    let path = folder.path("app.log");
    let _pipeline = Pipeline::builder().sink(Sink::file(&path)).build().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o137, 0);
}

#[test]
fn paths_that_cannot_be_logged_to_are_named() {
    let folder = Folder::new("refused");
    fs::write(folder.path("a file"), "").unwrap();
    let is_a_folder = folder.path("");
    let in_a_file = folder.path("a file").join("app.log");
    for path in [is_a_folder, in_a_file] {
        let error = Pipeline::builder().sink(Sink::file(&path)).build().unwrap_err();
        assert!(error.is_open());
        assert_eq!(format!("{error:?}"), error.to_string());
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
    let path = folder.path("app.log");
    let file = FileRotate::new(path, count, limit, Compression::None, None);
    let guard = Pipeline::builder().sink(Sink::writer("app.log", file)).build().unwrap();
    (0..20_000).for_each(|number| info(guard.pipeline(), &number.to_string()));
    guard.pipeline().flush(LONG).unwrap();
    let files = fs::read_dir(folder.path("")).unwrap().map(|file| file.unwrap().file_name());
    let files: Vec<_> = files.collect();
    assert!(files.len() > 2, "{files:?}");
    let messages = files.iter().flat_map(|file| folder.messages(file.to_str().unwrap()));
    let mut numbers: Vec<u32> = messages.map(|message| message.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..20_000).collect::<Vec<_>>());
}

#[test]
fn folders_are_made() {
    let folder = Folder::new("made");
    let path = folder.path("one").join("more").join("app.log");
    let guard = Pipeline::builder().sink(Sink::file(&path)).build().unwrap();
    info(guard.pipeline(), "there");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(folder.messages("one/more/app.log"), ["there"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |folder: &std::path::Path| fs::metadata(folder).unwrap().permissions().mode();
        assert_eq!(path.ancestors().skip(1).take(2).map(mode).map(|m| m & 0o027).max(), Some(0));
    }
}

/// The file is deleted after each write, together with its folder.
#[cfg(unix)]
#[test]
fn a_file_that_is_deleted_is_made_again_and_lacks_nothing() {
    let folder = Folder::new("deleted");
    let path = folder.path("logs").join("app.log");
    for sinks in [1, 2] {
        let mut builder = Pipeline::builder().sink(Sink::file(&path));
        if sinks == 2 {
            builder = builder.sink(Sink::writer("beside", std::io::sink()));
        }
        let guard = builder.build().unwrap();
        for number in 0..20 {
            info(guard.pipeline(), &number.to_string());
            guard.pipeline().flush(LONG).unwrap();
            assert_eq!(folder.messages("logs/app.log"), [number.to_string()]);
            match number % 2 {
                0 => fs::remove_file(&path).unwrap(),
                _ => fs::remove_dir_all(folder.path("logs")).unwrap(),
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_is_not_followed_is_kept_when_it_is_deleted_or_moved() {
    let folder = Folder::new("not-followed");
    let path = folder.path("app.log");
    let sink = Sink::file(&path).keep_open();
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    fs::hard_link(&path, folder.path("link")).unwrap();
    fs::remove_file(&path).unwrap();
    thread::sleep(Duration::from_millis(1_100));
    info(guard.pipeline(), "there");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(folder.messages("link"), ["there"]);
    assert!(!path.exists());
}

/// Another thread moves the file while records are written.
#[cfg(unix)]
#[test]
fn no_record_is_lost_while_the_file_is_moved() {
    const MOVES: usize = 3;
    let folder = Folder::new("moved");
    let path = folder.path("app.log");
    let guard = Pipeline::builder().sink(Sink::file(&path)).build().unwrap();
    let is_done = AtomicBool::new(false);
    let count = thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..MOVES {
                // Until the pipeline has made the file again.
                while fs::rename(&path, folder.path(&format!("app.log.{number}"))).is_err() {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            while !path.exists() {
                thread::sleep(Duration::from_millis(1));
            }
            is_done.store(true, Ordering::SeqCst);
        });
        let mut count: u32 = 0;
        while !is_done.load(Ordering::SeqCst) {
            info(guard.pipeline(), &count.to_string());
            count += 1;
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(20) {}
        }
        count
    });
    guard.pipeline().flush(LONG).unwrap();
    let names = (0..MOVES).map(|number| format!("app.log.{number}"));
    let messages = names.chain(["app.log".to_owned()]).flat_map(|name| folder.messages(&name));
    let numbers: Vec<u32> = messages.map(|message| message.parse().unwrap()).collect();
    assert_eq!(numbers, (0..count).collect::<Vec<_>>());
}

/// Returns the names of the old files, the oldest first.
fn old_files(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.path("")).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("app.log."));
    names.sort();
    names
}

#[test]
fn a_file_is_rotated_by_size_without_a_loss() {
    let folder = Folder::new("rotated");
    let path = folder.path("app.log");
    let rotation = Rotation::new().max_bytes(100_000);
    // The second pipeline continues where the first ended.
    for range in [0..10_000, 10_000..20_000] {
        let sink = Sink::file(&path).rotate(rotation);
        let guard = Pipeline::builder().sink(sink).build().unwrap();
        range.for_each(|number: u32| info(guard.pipeline(), &number.to_string()));
        guard.pipeline().flush(LONG).unwrap();
    }
    let old = old_files(&folder);
    assert!(old.len() > 5, "{old:?}");
    for name in &old {
        let length = fs::metadata(folder.path(name)).unwrap().len();
        assert!((100_000 / 4..=100_000).contains(&length), "{length}");
    }
    let all = old.iter().map(String::as_str).chain(["app.log"]);
    let numbers: Vec<u32> = all
        .flat_map(|name| folder.messages(name))
        .map(|message| message.parse().unwrap())
        .collect();
    assert_eq!(numbers, (0..20_000).collect::<Vec<_>>());
}

/// A restored file, or one that was written before the clock was set.
#[test]
fn a_file_from_before_1970_is_rotated() {
    let folder = Folder::new("before-1970");
    let path = folder.path("app.log");
    fs::write(&path, "old\n").unwrap();
    let written = std::time::UNIX_EPOCH - Duration::from_secs(1);
    fs::File::options().append(true).open(&path).unwrap().set_modified(written).unwrap();
    let sink = Sink::file(&path).rotate(Rotation::new().daily().keep(3));
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    info(guard.pipeline(), "new");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!((old_files(&folder).len(), folder.messages("app.log")), (1, vec!["new".to_owned()]));
}

#[test]
fn a_file_of_yesterday_is_rotated_and_the_oldest_files_are_deleted() {
    let folder = Folder::new("yesterday");
    let path = folder.path("app.log");
    for day in 0..5 {
        let sink = Sink::file(&path).rotate(Rotation::new().daily().keep(3));
        let guard = Pipeline::builder().sink(sink).build().unwrap();
        info(guard.pipeline(), &day.to_string());
        guard.pipeline().flush(LONG).unwrap();
        let yesterday = std::time::SystemTime::now() - Duration::from_secs(24 * 60 * 60);
        fs::File::options().append(true).open(&path).unwrap().set_modified(yesterday).unwrap();
        // The name of another file.
        fs::write(folder.path("app.log.20261123T143000.123456Z.txt"), "kept").unwrap();
    }
    assert_eq!(folder.messages("app.log"), ["4"]);
    let old = || old_files(&folder).into_iter().filter(|name| name.ends_with('Z'));
    // A thread deletes the surplus files.
    while old().count() > 3 {
        thread::sleep(Duration::from_millis(1));
    }
    let days: Vec<_> = old().flat_map(|name| folder.messages(&name)).collect();
    assert_eq!(days, ["1", "2", "3"]);
    assert!(folder.path("app.log.20261123T143000.123456Z.txt").exists());
}

#[cfg(feature = "gzip")]
#[test]
fn old_files_are_compressed_and_complete() {
    use std::io::Read as _;
    let folder = Folder::new("compressed");
    let path = folder.path("app.log");
    // Left by a process that ended while it compressed a file.
    let left = "app.log.20250101T000000.000000Z";
    fs::write(folder.path(left), "2025-01-01T00:00:00.000000Z INFO  app: left\n").unwrap();
    fs::write(folder.path(&format!("{left}.gz.part")), "half").unwrap();
    let rotation = Rotation::new().max_bytes(100_000).gzip();
    let guard = Pipeline::builder().sink(Sink::file(&path).rotate(rotation)).build().unwrap();
    (0..20_000).for_each(|number| info(guard.pipeline(), &number.to_string()));
    guard.pipeline().flush(LONG).unwrap();
    // The files of rotations that came during a compression are compressed too, without a further
    // rotation.
    let is_done = |names: &[String]| names.iter().all(|name| name.ends_with("Z.gz"));
    let start = Instant::now();
    while !is_done(&old_files(&folder)) {
        assert!(start.elapsed() < LONG, "{:?}", old_files(&folder));
        thread::sleep(Duration::from_millis(1));
    }
    drop(guard);
    let mut text = String::new();
    for name in old_files(&folder) {
        let file = fs::File::open(folder.path(&name)).unwrap();
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    }
    text.push_str(&fs::read_to_string(path).unwrap());
    let messages: Vec<_> =
        text.lines().map(|line| line.rsplit_once(": ").unwrap().1.to_owned()).collect();
    let numbers = (0..20_000).map(|number| number.to_string());
    assert_eq!(messages, ["left".to_owned()].into_iter().chain(numbers).collect::<Vec<_>>());
}

/// The link may be to another folder, and through another link.
#[cfg(unix)]
#[test]
fn the_file_behind_a_link_is_rotated_and_the_link_stays() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new("link");
    fs::create_dir(folder.path("data")).unwrap();
    fs::write(folder.path("data/app.log"), "").unwrap();
    symlink("data/app.log", folder.path("middle")).unwrap();
    symlink("middle", folder.path("current")).unwrap();
    let rotation = Rotation::new().max_bytes(64 * 1024).keep(2);
    let sink = Sink::file(folder.path("current")).rotate(rotation);
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    // Each record fills a file.
    for number in 0..5 {
        info(guard.pipeline(), &format!("{number} {}", "x".repeat(60_000)));
        guard.pipeline().flush(LONG).unwrap();
    }
    drop(guard);
    let names = |name: &str| {
        let files = fs::read_dir(folder.path(name)).unwrap();
        let mut names: Vec<_> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(""), ["current", "data", "middle"]);
    assert!(folder.path("current").is_symlink() && folder.path("middle").is_symlink());
    // A thread deletes old files. If it never does, the test runner notices.
    while names("data").len() > 3 {
        thread::sleep(Duration::from_millis(10));
    }
    let files = names("data");
    assert_eq!((files.len(), &*files[0]), (3, "app.log"));
    let texts = files.iter().map(|name| fs::read_to_string(folder.path("data").join(name)));
    let texts: Vec<_> = texts.map(Result::unwrap).collect();
    for (text, number) in texts.iter().zip([4, 2, 3]) {
        assert!(text.contains(&format!(" {number} x")), "{}", &text[..80]);
    }
}

#[cfg(unix)]
#[test]
fn a_fifo_is_not_rotated() {
    let folder = Folder::new("fifo");
    let path = folder.path("app.log");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let sink = Sink::file(&path).rotate(Rotation::new().max_bytes(64 * 1024));
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    let reader = thread::spawn(move || {
        let lines = std::io::BufReader::new(fs::File::open(path).unwrap());
        std::io::BufRead::lines(lines).take(5_000).count()
    });
    (0..5_000).for_each(|number| info(guard.pipeline(), &number.to_string()));
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(reader.join().unwrap(), 5_000);
    assert_eq!(old_files(&folder), [""; 0]);
}

#[test]
fn a_file_is_rotated_at_the_start_and_on_demand() {
    let folder = Folder::new("on-demand");
    let path = folder.path("app.log");
    let names = || {
        let names = fs::read_dir(folder.path("")).unwrap().map(|it| it.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    for sinks in [1, 2] {
        fs::write(&path, "a: before\n").unwrap();
        let rotation = Rotation::new().at_start().keep(2);
        let mut builder = Pipeline::builder().sink(Sink::file(&path).rotate(rotation));
        if sinks == 2 {
            builder = builder.sink(Sink::writer("beside", std::io::sink()));
        }
        let guard = builder.build().unwrap();
        info(guard.pipeline(), "one");
        guard.pipeline().flush(LONG).unwrap();
        guard.pipeline().rotate();
        guard.pipeline().flush(LONG).unwrap();
        info(guard.pipeline(), "two");
        guard.pipeline().flush(LONG).unwrap();
        // An empty file is left alone.
        guard.pipeline().rotate();
        guard.pipeline().flush(LONG).unwrap();
        guard.pipeline().rotate();
        guard.pipeline().flush(LONG).unwrap();
        info(guard.pipeline(), "three");
        guard.pipeline().flush(LONG).unwrap();
        drop(guard);
        // A thread deletes the others.
        while names().len() > 3 {
            thread::sleep(Duration::from_millis(10));
        }
        let mut files: Vec<_> = names().iter().map(|name| folder.messages(name)).collect();
        // The current file is the first by its name.
        assert_eq!(files.remove(0), ["three"] as [&str; 1]);
        assert_eq!(files, [["one"], ["two"]]);
        fs::remove_file(&path).unwrap();
    }
}

/// The names of its old files would be longer than a name may be.
#[test]
fn a_file_with_a_name_too_long_to_rotate_is_refused() {
    let folder = Folder::new("unrotated");
    let sink = |length| {
        let file = Sink::file(folder.path(&"x".repeat(length)));
        file.rotate(Rotation::new().max_bytes(64 * 1024))
    };
    assert!(Pipeline::builder().sink(sink(209)).build().is_ok());
    let error = Pipeline::builder().sink(sink(210)).build().unwrap_err();
    assert!(error.is_option() && error.to_string().contains("209 bytes"), "{error}");
}

#[cfg(target_os = "linux")]
const SYNCED: &str = "TACH_PIPELINE_SYNCED";

/// Not a test: a program that logs to the file `SYNCED`, and waits for the disk at every write.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "the child of the next test"]
fn synced() {
    use tach_pipeline::SyncPolicy;

    let Some(path) = std::env::var_os(SYNCED) else { return };
    let sink = Sink::file(path).sync(SyncPolicy::Every);
    let guard = Pipeline::builder().sink(sink).on_incident(|_| {}).build().unwrap();
    for number in 0..10 {
        info(guard.pipeline(), &number.to_string());
        let _may_fail = guard.pipeline().flush(LONG);
    }
}

/// If the disk refuses, the file must not grow with each try.
#[cfg(target_os = "linux")]
#[test]
fn a_write_waits_for_the_disk_if_asked_to() {
    use std::process::Command;

    let works = Command::new("strace").args(["-qq", "true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        eprintln!("NOT RUN: a_write_waits_for_the_disk needs strace");
        return;
    }
    let folder = Folder::new("synced");
    let run = |name: &str, options: &[&str]| {
        let trace = folder.path(&format!("{name}.trace"));
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-e", "trace=fdatasync"]).args(options).arg("-o").arg(&trace);
        strace.arg(std::env::current_exe().unwrap()).args(["--exact", "files::synced"]);
        let output = strace.arg("--ignored").env(SYNCED, folder.path(name)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read_to_string(trace).unwrap().matches("fdatasync(").count()
    };
    assert_eq!(run("good", &[]), 10);
    assert_eq!(folder.messages("good").len(), 10);
    assert!(run("refusing", &["-e", "inject=fdatasync:error=EIO"]) >= 10);
    assert_eq!(folder.messages("refusing"), ["0"], "the others wait for the disk");
    // The first write is repeated once the disk works.
    run("recovering", &["-e", "inject=fdatasync:error=EIO:when=1..3"]);
    let messages = folder.messages("recovering");
    assert_eq!(messages.iter().filter(|it| *it == "0").count(), 2, "{messages:?}");
    assert!((1..10).all(|number| messages.contains(&number.to_string())), "{messages:?}");
}
