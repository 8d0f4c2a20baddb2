//! The log itself, exchanged for a link, a device or a file of others.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::{env, fs, process, thread};

use tach_pipeline::{Pipeline, Sink};
use test_support::users::{STRANGER, can_be_others, give, set_mode};

use super::{FOLDER, SECRET, SHARED, entries, fill, rotations, shared};
use crate::support::{Folder, LONG, info};

/// The log is exchanged while the process runs, in all ways.
#[test]
fn a_link_in_the_place_of_the_log_is_not_followed() {
    let folder = Folder::new("exchanged");
    let (log, victim) = (folder.path("app.log"), folder.path("victim"));
    fs::write(&victim, "").unwrap();
    for rotation in [None, Some(rotations()[0])] {
        for kind in ["symbolic", "dangling", "fifo"] {
            let _none = fs::remove_file(&log);
            let mut sink = Sink::file(&log);
            if let Some(rotation) = rotation {
                sink = sink.rotate(rotation);
            }
            let guard = Pipeline::builder().sink(sink).on_incident(|_| {}).build().expect(kind);
            fill(guard.pipeline(), "before");
            let moved = folder.path("moved");
            fs::rename(&log, &moved).unwrap();
            match kind {
                "symbolic" => symlink(&victim, &log).unwrap(),
                "dangling" => symlink(folder.path("missing"), &log).unwrap(),
                _ => assert!(Command::new("mkfifo").arg(&log).status().unwrap().success()),
            }
            guard.pipeline().reopen();
            guard.pipeline().flush(LONG).unwrap();
            info(guard.pipeline(), "after");
            guard.pipeline().flush(LONG).unwrap();
            assert_eq!(fs::read_to_string(&victim).unwrap(), "", "{kind}");
            assert!(!folder.path("missing").exists(), "{kind}");
            assert!(
                fs::read_to_string(&moved).unwrap().contains(" after"),
                "{kind}: nothing is lost"
            );
            // Once the link is gone, there is a log again.
            fs::remove_file(&log).unwrap();
            guard.pipeline().reopen();
            guard.pipeline().flush(LONG).unwrap();
            info(guard.pipeline(), "again");
            guard.pipeline().flush(LONG).unwrap();
            assert!(fs::read_to_string(&log).unwrap().contains(" again"), "{kind}");
        }
    }
}

#[test]
fn a_hard_link_in_a_shared_folder_is_refused() {
    if !can_be_others("a_hard_link_in_a_shared_folder_is_refused") {
        return;
    }
    let folder = Folder::new("hard-link");
    let victim = folder.path("victim");
    fs::write(&victim, SECRET).unwrap();
    let log = shared(&folder, SHARED[1]).join("app.log");
    let guard = Pipeline::builder().sink(Sink::file(&log)).on_incident(|_| {}).build().unwrap();
    fs::remove_file(&log).unwrap();
    fs::hard_link(&victim, &log).unwrap();
    guard.pipeline().reopen();
    info(guard.pipeline(), "after");
    let _nowhere_to_write = guard.pipeline().flush(Duration::from_millis(100));
    assert_eq!(fs::read_to_string(&victim).unwrap(), SECRET);
    let error = Pipeline::builder().sink(Sink::file(&log)).build().unwrap_err().to_string();
    assert!(error.contains("another name"), "{error}");
    fs::remove_file(&log).unwrap();
    guard.pipeline().flush(LONG).unwrap();
    assert!(fs::read_to_string(&log).unwrap().contains(" after"));
}

#[test]
fn a_stranger_s_link_chooses_no_log_of_root() {
    if !can_be_others("a_stranger_s_link_chooses_no_log_of_root") {
        return;
    }
    let folder = Folder::new("chosen");
    let path = shared(&folder, SHARED[4]);
    let (file, inner) = (path.join("app.log"), path.join("logs"));
    symlink(folder.path("victim"), &file).unwrap();
    symlink(folder.path(""), &inner).unwrap();
    for log in [file.clone(), inner.join("app.log")] {
        let build = || Pipeline::builder().sink(Sink::file(&log)).build();
        // A link of root's is the administrator's choice.
        drop(build().unwrap());
        give(&file, STRANGER);
        give(&inner, STRANGER);
        let error = build().unwrap_err().to_string();
        assert!(error.contains(&format!("a link of user {STRANGER}")), "{error}");
        give(&file, 0);
        give(&inner, 0);
    }
}

/// A device, a FIFO, or a log of the stranger's own.
#[test]
fn a_stranger_chooses_no_device_and_reads_no_log_in_a_folder_of_everybody() {
    let test = "a_stranger_chooses_no_device_and_reads_no_log_in_a_folder_of_everybody";
    if !can_be_others(test) {
        return;
    }
    let folder = Folder::new("devices");
    let log = shared(&folder, SHARED[1]).join("app.log");
    let build = || Pipeline::builder().sink(Sink::file(&log).mode(0o600)).build();
    let fifo = folder.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for target in [Path::new("/dev/null"), &fifo] {
        symlink(target, &log).unwrap();
        give(&log, STRANGER);
        let error = build().unwrap_err().to_string();
        assert!(error.contains(&format!("a link of user {STRANGER}")), "{error}");
        fs::remove_file(&log).unwrap();
    }
    fs::write(&log, "").unwrap();
    set_mode(&log, 0o666);
    give(&log, STRANGER);
    let error = build().unwrap_err().to_string();
    assert!(error.contains("another user's"), "{error}");
    // The same holds while the program runs.
    fs::remove_file(&log).unwrap();
    let guard = Pipeline::builder().sink(Sink::file(&log)).on_incident(|_| {}).build().unwrap();
    let theirs = folder.path("theirs");
    fs::write(&theirs, "").unwrap();
    give(&theirs, STRANGER);
    fs::rename(&log, folder.path("moved")).unwrap();
    fs::rename(&theirs, &log).unwrap();
    guard.pipeline().reopen();
    guard.pipeline().flush(LONG).unwrap();
    info(guard.pipeline(), "after");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), "");
    assert!(fs::read_to_string(folder.path("moved")).unwrap().contains(" after"));
}

/// Two links, of root and of the stranger, that change places.
#[cfg(target_os = "linux")]
#[test]
fn a_link_is_read_as_it_was_checked() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};

    if !can_be_others("a_link_is_read_as_it_was_checked") {
        return;
    }
    let folder = Folder::new("exchanged-links");
    let path = shared(&folder, SHARED[4]);
    let (ours, theirs) = (path.join("app.log"), path.join("evil"));
    symlink(folder.path("right"), &ours).unwrap();
    symlink(folder.path("wrong"), &theirs).unwrap();
    give(&theirs, STRANGER);
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // ORDERING: the flag alone is shared.
            while !is_done.load(Ordering::Relaxed) {
                renameat_with(CWD, &ours, CWD, &theirs, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let wrong = (0..100_000)
            .find(|_| tach_files::resolve(&ours).is_ok_and(|resolved| resolved.ends_with("wrong")));
        // ORDERING: as above.
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(wrong, None);
    });
}

/// An unnamed file, as a supervisor may pass one.
#[cfg(target_os = "linux")]
#[test]
fn standard_output_is_written_to_wherever_it_leads() {
    let folder = Folder::new("stdout");
    let path = folder.path("out");
    let out = fs::File::options().create_new(true).read(true).append(true).open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let mut child = Command::new(env::current_exe().unwrap());
    child
        .args(["--exact", "strangers::log::to_stdout", "--ignored"])
        .stdout(out.try_clone().unwrap());
    assert!(child.status().unwrap().success());
    let mut text = String::new();
    let mut out = out;
    io::Seek::rewind(&mut out).unwrap();
    out.read_to_string(&mut text).unwrap();
    assert!(text.contains("to an unnamed file"), "{text}");
    assert_eq!(entries(&folder.path("")), []);
}

/// Not a test: the program of the test above.
#[test]
#[ignore = "the child of the test above"]
fn to_stdout() {
    let sink = Sink::file("/dev/stdout").rotate(rotations()[0]);
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    info(guard.pipeline(), "to an unnamed file");
    guard.pipeline().reopen();
    guard.pipeline().flush(LONG).unwrap();
}

#[test]
fn a_mode_that_is_set_is_the_new_file_s_whatever_the_umask() {
    let folder = Folder::new("set-mode");
    for mode in [0o600, 0o666] {
        let log = folder.path(&format!("{mode:o}"));
        let _pipeline = Pipeline::builder().sink(Sink::file(&log).mode(mode)).build().unwrap();
        assert_eq!(fs::metadata(log).unwrap().mode() & 0o777, mode);
    }
}

/// Not a test: the program below `strace`.
#[test]
#[ignore = "the child of the next test"]
fn traced() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let log = Path::new(&folder).join("app.log");
    let rotation = *rotations().last().unwrap();
    let guard = Pipeline::builder().sink(Sink::file(log).rotate(rotation)).build().unwrap();
    let _a_mark_for_the_trace = fs::File::open("/tach-built");
    for number in 0..6 {
        fill(guard.pipeline(), &number.to_string());
        guard.pipeline().reopen();
    }
    drop(guard);
}

#[test]
fn no_log_is_opened_through_a_link_after_the_build() {
    let folder = Folder::new("traced");
    let trace = env::temp_dir().join(format!("tach-pipeline-trace-{}", process::id()));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=open,openat,openat2,creat", "-o"]).arg(&trace);
    strace.arg(env::current_exe().unwrap()).args([
        "--exact",
        "strangers::log::traced",
        "--ignored",
    ]);
    let works = Command::new("strace").args(["-qq", "true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        eprintln!("NOT RUN: no_log_is_opened_through_a_link needs strace");
        return;
    }
    let output = strace.env(FOLDER, folder.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&trace).unwrap();
    fs::remove_file(trace).unwrap();
    let (_, after) = text.split_once("/tach-built").expect("the mark");
    let logs: Vec<_> = after.lines().filter(|line| line.contains("app.log")).collect();
    assert!(logs.len() > 12, "{text}");
    assert!(logs.iter().all(|line| line.contains("O_NOFOLLOW")), "{logs:#?}");
    // The folder is the one that was opened before.
    let name = folder.path("").file_name().unwrap().to_str().unwrap().to_owned();
    let folders: Vec<_> = after.lines().filter(|line| line.contains(&name)).collect();
    assert!(folders.is_empty(), "{folders:#?}");
}
