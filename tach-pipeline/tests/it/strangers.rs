//! Files in folders where other users may write too.

use core::time::Duration;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Instant;
use std::{env, process};

use proptest::prelude::*;
use tach_pipeline::{Pipeline, Rotation, Sink};
use test_support::users::{Copy, SERVICE, STRANGER, can_be_others, give, set_mode};

use crate::support::{Folder, LONG, info};

/// The folder of a child process.
const FOLDER: &str = "TACH_PIPELINE_STRANGERS_FOLDER";
/// Which start of the service it is.
const START: &str = "TACH_PIPELINE_STRANGERS_START";
/// A name that a rotation gives.
const OLD: &str = "app.log.20200101T000000.000000Z";
/// The text of files that must stay.
const SECRET: &str = "root:$6$not for everyone";

/// Kinds of folders that a stranger may write: a name, the owner, and the mode.
const SHARED: [(&str, u32, u32); 6] = [
    ("plain", 0, 0o777),
    ("sticky", 0, 0o1777),
    ("setgid", STRANGER, 0o2775),
    ("of-a-group", 0, 0o770),
    ("owned", STRANGER, 0o755),
    ("of-root-s-group", 0, 0o775),
];

fn rotations() -> Vec<Rotation> {
    let rotation = Rotation::new().max_bytes(1).keep(3);
    vec![
        rotation,
        #[cfg(feature = "gzip")]
        rotation.gzip(),
    ]
}

fn shared(folder: &Folder, (name, owner, mode): (&str, u32, u32)) -> PathBuf {
    let path = folder.path(name);
    fs::create_dir_all(&path).unwrap();
    // The group is the stranger's in most cases.
    let group = if name == "of-root-s-group" { 0 } else { STRANGER };
    std::os::unix::fs::chown(&path, Some(owner), Some(group)).unwrap();
    set_mode(&path, mode);
    path
}

/// Fills a file, so that the next record is in another one.
fn fill(pipeline: &Pipeline, name: &str) {
    info(pipeline, &format!("{name} {}", "x".repeat(60_000)));
    pipeline.flush(LONG).unwrap();
}

/// Waits until `is_so`: a thread of its own compresses and deletes.
fn wait_until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "it takes too long");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns whether the service's old files are as few and as small as the last rotation has them.
fn is_tidy(folder: &Path, user: u32) -> bool {
    let entries = entries(folder);
    let is_own = |name: &str, owner| {
        owner == user && name.starts_with("app.log.20") && !name.starts_with("app.log.2018")
    };
    let own: Vec<_> = entries.iter().filter(|(name, owner, _)| is_own(name, *owner)).collect();
    let end = if cfg!(feature = "gzip") { "Z.gz" } else { "Z" };
    own.len() == 3 && own.iter().all(|(name, ..)| name.ends_with(end))
}

/// Returns the entries of a folder with their owners and texts. A link's text is its target.
fn entries(folder: &Path) -> Vec<(String, u32, Vec<u8>)> {
    let entry = |entry: io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        // A thread may delete it meanwhile.
        let metadata = path.symlink_metadata().ok()?;
        let text = match fs::read_link(&path) {
            Ok(target) => target.into_os_string().into_encoded_bytes(),
            Err(_) if metadata.is_file() => fs::read(&path).ok()?,
            Err(_) => Vec::new(),
        };
        Some((path.file_name()?.to_str()?.to_owned(), metadata.uid(), text))
    };
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().filter_map(entry).collect();
    entries.sort();
    entries
}

/// Lays what an attacker would: names of archives that are links, or the attacker's own.
fn lay_traps(folder: &Path, victim: &Path) {
    let path = |name: &str| folder.join(name);
    fs::write(path(OLD), "hi\n").unwrap();
    symlink(victim, path(&format!("{OLD}.gz.part"))).unwrap();
    symlink(victim, path(&OLD.replace("2020", "2019"))).unwrap();
    fs::write(path(&format!("{}.gz.part", OLD.replace("2020", "2019"))), "").unwrap();
    fs::hard_link(victim, path(&OLD.replace("2020", "2018"))).unwrap();
    fs::write(path(&format!("{}.gz", OLD.replace("2020", "2017"))), "theirs").unwrap();
    fs::create_dir(path(&OLD.replace("2020", "2016"))).unwrap();
    for (name, ..) in entries(folder) {
        if !name.starts_with("app.log.2018") {
            give(&path(&name), STRANGER);
        }
    }
    // A file of the service, which it has yet to compress.
    fs::write(path(&OLD.replace("2020", "2021")), "old\n").unwrap();
    give(&path(&OLD.replace("2020", "2021")), SERVICE);
    symlink(victim, path(&format!("{}.gz.part", OLD.replace("2020", "2021")))).unwrap();
}

#[test]
fn root_does_not_rotate_where_others_may_write() {
    if !can_be_others("root_does_not_rotate_where_others_may_write") {
        return;
    }
    let folder = Folder::new("root-shared");
    let victim = folder.path("victim");
    for rotation in rotations() {
        for kind in SHARED {
            fs::write(&victim, SECRET).unwrap();
            let path = shared(&folder, kind);
            lay_traps(&path, &victim);
            let before = entries(&path);
            let log = path.join("app.log");
            let built = Pipeline::builder().sink(Sink::file(&log).rotate(rotation)).build();
            let error = built.expect_err(kind.0);
            let text = error.to_string();
            assert!(error.is_open() && text.contains(&path.display().to_string()), "{text}");
            assert!(
                text.contains("may write the folder") && text.contains("a new one in it"),
                "{text}"
            );
            assert!(entries(&path) == before && fs::read_to_string(&victim).unwrap() == SECRET);
            // Without a rotation, it may append.
            let pipeline = Pipeline::builder().sink(Sink::file(&log)).build().expect(kind.0);
            info(&pipeline, "there");
            pipeline.flush(LONG).unwrap();
            fs::remove_dir_all(path).unwrap();
        }
    }
}

/// Not a test: the service, which rotates in one of these ways at each of its starts.
#[test]
#[ignore = "the child of the next test"]
fn service() {
    let (Some(folder), Ok(start)) = (env::var_os(FOLDER), env::var(START)) else { return };
    let folder = Path::new(&folder);
    let build = |rotation| {
        let sink = Sink::file(folder.join("app.log")).rotate(rotation);
        Pipeline::builder().on_incident(|_| {}).sink(sink).build().unwrap()
    };
    let Some(rotation) =
        start.parse().ok().and_then(|start: usize| rotations().get(start).copied())
    else {
        #[cfg(feature = "gzip")]
        {
            let pipeline = build(Rotation::new().max_bytes(1).gzip());
            // The trap at its compressed file is found, and reported at the next rotation.
            let old = folder.join(OLD.replace("2020", "2021"));
            // The youngest are compressed first, so there must be a pause for the trap.
            let is_left = |(name, user, _): &(String, u32, Vec<u8>)| {
                *user == SERVICE && name.starts_with("app.log.2") && name.ends_with('Z')
            };
            wait_until(|| {
                fill(&pipeline, "first");
                wait_until(|| entries(folder).iter().filter(|it| is_left(it)).count() <= 2);
                pipeline.stats().sinks()[0].failures() > 0 || !old.exists()
            });
        }
        return;
    };
    let pipeline = build(rotation);
    (0..6).for_each(|number| fill(&pipeline, &number.to_string()));
    let is_last = start == (rotations().len() - 1).to_string();
    wait_until(|| !is_last || is_tidy(folder, SERVICE));
}

#[test]
fn a_service_touches_no_file_of_others_in_a_shared_folder() {
    if !can_be_others("a_service_touches_no_file_of_others_in_a_shared_folder") {
        return;
    }
    let folder = Folder::new("service-shared");
    set_mode(&folder.path(""), 0o755);
    let victim = folder.path("victim");
    let copy = Copy::new("strangers", false);
    for (name, owner, mode) in SHARED {
        // The service's group shares it.
        fs::write(&victim, SECRET).unwrap();
        give(&victim, SERVICE);
        set_mode(&victim, 0o600);
        let path = shared(&folder, (name, owner, mode));
        std::os::unix::fs::chown(&path, None, Some(SERVICE)).unwrap();
        set_mode(&path, mode | 0o020);
        lay_traps(&path, &victim);
        let before = entries(&path);
        for start in ["first", "0", "1"] {
            let mut service = copy.test_as(SERVICE, "strangers::service");
            let output = service.env(FOLDER, &path).env(START, start).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}, {start}: {text}");
        }
        let after = entries(&path);
        for trap in before.iter().filter(|(name, ..)| *name != OLD.replace("2020", "2021")) {
            assert!(after.contains(trap), "{name}: {} was touched", trap.0);
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), SECRET, "{name}");
        // Its own files it rotates, compresses and deletes.
        assert!(is_tidy(&path, SERVICE), "{name}: {after:?}");
        assert!(!after.iter().any(|(_, _, text)| {
            let mut plain = String::new();
            let gzip = flate2::read::GzDecoder::new(&text[..]).read_to_string(&mut plain);
            gzip.is_ok() && plain.contains(SECRET)
        }));
        fs::remove_dir_all(path).unwrap();
    }
}

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
            let pipeline = Pipeline::builder().sink(sink).on_incident(|_| {}).build().expect(kind);
            fill(&pipeline, "before");
            let moved = folder.path("moved");
            fs::rename(&log, &moved).unwrap();
            match kind {
                "symbolic" => symlink(&victim, &log).unwrap(),
                "dangling" => symlink(folder.path("missing"), &log).unwrap(),
                _ => assert!(Command::new("mkfifo").arg(&log).status().unwrap().success()),
            }
            pipeline.reopen();
            pipeline.flush(LONG).unwrap();
            info(&pipeline, "after");
            pipeline.flush(LONG).unwrap();
            assert_eq!(fs::read_to_string(&victim).unwrap(), "", "{kind}");
            assert!(!folder.path("missing").exists(), "{kind}");
            assert!(
                fs::read_to_string(&moved).unwrap().contains(" after"),
                "{kind}: nothing is lost"
            );
            // Once the link is gone, there is a log again.
            fs::remove_file(&log).unwrap();
            pipeline.reopen();
            pipeline.flush(LONG).unwrap();
            info(&pipeline, "again");
            pipeline.flush(LONG).unwrap();
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
    let pipeline = Pipeline::builder().sink(Sink::file(&log)).on_incident(|_| {}).build().unwrap();
    fs::remove_file(&log).unwrap();
    fs::hard_link(&victim, &log).unwrap();
    pipeline.reopen();
    info(&pipeline, "after");
    let _nowhere_to_write = pipeline.flush(Duration::from_millis(100));
    assert_eq!(fs::read_to_string(&victim).unwrap(), SECRET);
    let error = Pipeline::builder().sink(Sink::file(&log)).build().unwrap_err().to_string();
    assert!(error.contains("another name"), "{error}");
    fs::remove_file(&log).unwrap();
    pipeline.flush(LONG).unwrap();
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
    // Also while the program runs.
    fs::remove_file(&log).unwrap();
    let pipeline = Pipeline::builder().sink(Sink::file(&log)).on_incident(|_| {}).build().unwrap();
    let theirs = folder.path("theirs");
    fs::write(&theirs, "").unwrap();
    give(&theirs, STRANGER);
    fs::rename(&log, folder.path("moved")).unwrap();
    fs::rename(&theirs, &log).unwrap();
    pipeline.reopen();
    pipeline.flush(LONG).unwrap();
    info(&pipeline, "after");
    pipeline.flush(LONG).unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), "");
    assert!(fs::read_to_string(folder.path("moved")).unwrap().contains(" after"));
}

/// Two links, of root and of the stranger, that change places.
#[cfg(target_os = "linux")]
#[test]
fn a_link_is_read_as_it_was_checked() {
    use core::sync::atomic::{AtomicBool, Ordering};

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
            while !is_done.load(Ordering::Relaxed) {
                renameat_with(CWD, &ours, CWD, &theirs, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let wrong = (0..100_000)
            .find(|_| tach_files::resolve(&ours).is_ok_and(|resolved| resolved.ends_with("wrong")));
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
    child.args(["--exact", "strangers::to_stdout", "--ignored"]).stdout(out.try_clone().unwrap());
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
    let pipeline = Pipeline::builder().sink(sink).build().unwrap();
    info(&pipeline, "to an unnamed file");
    pipeline.reopen();
    pipeline.flush(LONG).unwrap();
}

/// Whoever changed them knows why.
#[test]
fn a_new_file_and_an_archive_keep_the_mode_and_the_owner() {
    for (mode, is_given) in [(0o600, false), (0o664, false), (0o640, true)] {
        if is_given && !can_be_others("a_new_file_and_an_archive_keep_the_owner") {
            return;
        }
        for rotation in rotations() {
            let folder = Folder::new("access");
            let log = folder.path("app.log");
            fs::write(&log, "").unwrap();
            set_mode(&log, mode);
            if is_given {
                std::os::unix::fs::chown(&log, Some(SERVICE), Some(STRANGER)).unwrap();
            }
            let access = || {
                let files = fs::read_dir(folder.path("")).unwrap();
                let files = files.map(|file| file.unwrap().metadata().unwrap());
                files.map(|it| (it.mode() & 0o7777, it.uid(), it.gid())).collect::<Vec<_>>()
            };
            let first = access()[0];
            let pipeline = Pipeline::builder().sink(Sink::file(&log).rotate(rotation)).build();
            let pipeline = pipeline.unwrap();
            (0..3).for_each(|number| fill(&pipeline, &number.to_string()));
            // Also a file that somebody else moved.
            fs::rename(&log, folder.path("moved")).unwrap();
            pipeline.reopen();
            pipeline.flush(LONG).unwrap();
            let is_done = |(name, ..): &(String, u32, Vec<u8>)| {
                rotation == rotations()[0]
                    || !name.starts_with("app.log.")
                    || name.ends_with("Z.gz")
            };
            wait_until(|| entries(&folder.path("")).iter().all(is_done));
            assert_eq!(access(), [first; 4], "{mode:o}");
        }
    }
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

/// What a name may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    Own,
    /// As root alone.
    Strange,
    Link,
    Folder,
    SecondName,
}

fn names() -> impl Strategy<Value = Vec<(String, Stands)>> {
    let digits = || prop_oneof![9 => "[0-9]", 1 => "[0-9a-zA-Z.:]"];
    let part = |count| proptest::collection::vec(digits(), count).prop_map(|it| it.concat());
    let end = prop_oneof![
        4 => Just(String::new()),
        2 => Just(".gz".to_owned()),
        1 => Just(".gz.part".to_owned()),
        1 => "[.a-zA-Z0-9 *?\\\\\\n-]{1,4}",
    ];
    let time = (part(8), part(6), part(6), end);
    let name = prop_oneof![
        8 => time.prop_map(|(day, time, micros, end)| format!("app.log.{day}T{time}.{micros}Z{end}")),
        1 => "app\\.log[.a-zA-Z0-9-]{1,30}",
        1 => "[^/\0]{1,40}",
    ];
    let stands = prop_oneof![
        4 => Just(Stands::Own),
        1 => Just(Stands::Strange),
        1 => Just(Stands::Link),
        1 => Just(Stands::Folder),
        1 => Just(Stands::SecondName),
    ];
    proptest::collection::vec((name, stands), 0..20)
}

/// Returns whether a rotation of `app.log` gives files such a name.
fn is_given_by_rotation(name: &str) -> bool {
    let Some(end) = name.strip_prefix("app.log.") else { return false };
    let end = end.strip_suffix(".gz").unwrap_or(end);
    let pattern = "dddddddd'T'dddddd.ddddddZ".replace('\'', "");
    end.chars().count() == pattern.len()
        && end.chars().zip(pattern.chars()).all(|(found, wanted)| match wanted {
            'd' => found.is_ascii_digit(),
            wanted => found == wanted,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn whatever_is_in_the_folder_only_own_old_files_are_deleted(names in names()) {
        let is_root = can_be_others("a part of whatever_is_in_the_folder");
        let folder = Folder::new("names");
        let elsewhere = Folder::new("names-elsewhere");
        let mut staying = Vec::new();
        for (number, (name, stands)) in names.iter().enumerate() {
            let path = folder.path(name);
            if path.symlink_metadata().is_ok() || name == "." || name == ".." || name == "app.log" {
                continue;
            }
            let other = elsewhere.path(&number.to_string());
            fs::write(&other, SECRET).unwrap();
            match stands {
                Stands::Own | Stands::Strange => fs::write(&path, SECRET).unwrap(),
                Stands::Link => symlink(&other, &path).unwrap(),
                Stands::Folder => fs::create_dir(&path).unwrap(),
                Stands::SecondName => fs::hard_link(&other, &path).unwrap(),
            }
            let is_strange = *stands == Stands::Strange && is_root;
            if is_strange {
                give(&path, STRANGER);
            }
            let is_own = matches!(stands, Stands::Own | Stands::Strange) && !is_strange;
            let is_old = match name.strip_suffix(".part") {
                // Of a file that is not compressed yet.
                Some(part) => part.strip_suffix(".gz").is_some_and(is_given_by_rotation),
                None => is_given_by_rotation(name),
            };
            if !(is_own && is_old) {
                staying.push(name.clone());
            }
        }
        let log = folder.path("app.log");
        let rotation = Rotation::new().max_bytes(1).keep(0);
        let pipeline = Pipeline::builder().sink(Sink::file(&log).rotate(rotation)).build().unwrap();
        fill(&pipeline, "1");
        fill(&pipeline, "2");
        // And these are.
        let is_own_and_old = |name: &String| is_given_by_rotation(name) && !staying.contains(name);
        let names_left = || entries(&folder.path("")).into_iter().map(|(name, ..)| name);
        wait_until(|| !names_left().any(|name| is_own_and_old(&name)));
        for name in &staying {
            prop_assert!(folder.path(name).symlink_metadata().is_ok(), "{name:?} is gone");
        }
        for (number, _) in names.iter().enumerate() {
            let other = fs::read_to_string(elsewhere.path(&number.to_string()));
            prop_assert!(other.is_err() || other.unwrap() == SECRET);
        }
    }
}

/// Not a test: the program below `strace`.
#[test]
#[ignore = "the child of the next test"]
fn traced() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let log = Path::new(&folder).join("app.log");
    let rotation = *rotations().last().unwrap();
    let pipeline = Pipeline::builder().sink(Sink::file(log).rotate(rotation)).build().unwrap();
    let _a_mark_for_the_trace = fs::File::open("/tach-built");
    for number in 0..6 {
        fill(&pipeline, &number.to_string());
        pipeline.reopen();
    }
    drop(pipeline);
}

#[test]
fn no_log_is_opened_through_a_link_after_the_build() {
    let folder = Folder::new("traced");
    let trace = env::temp_dir().join(format!("tach-pipeline-trace-{}", process::id()));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=open,openat,openat2,creat", "-o"]).arg(&trace);
    strace.arg(env::current_exe().unwrap()).args(["--exact", "strangers::traced", "--ignored"]);
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
    // Folders are followed just as little.
    let name = folder.path("").file_name().unwrap().to_str().unwrap().to_owned();
    let folders: Vec<_> = after.lines().filter(|line| line.contains(&name)).collect();
    assert!(!folders.is_empty() && folders.iter().all(|line| line.contains("O_NOFOLLOW")));
}

/// A rotation waits for nobody: not for a FIFO in the place of an old file.
#[cfg(feature = "gzip")]
#[test]
fn a_fifo_in_the_place_of_an_old_file_stops_nothing() {
    let folder = Folder::new("old-fifo");
    let fifo = folder.path(OLD);
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let rotation = *rotations().last().unwrap();
    let sink = Sink::file(folder.path("app.log")).rotate(rotation);
    let pipeline = Pipeline::builder().sink(sink).build().unwrap();
    (0..6).for_each(|number| fill(&pipeline, &number.to_string()));
    let start = Instant::now();
    let is_done =
        || entries(&folder.path("")).iter().filter(|it| it.0.ends_with("Z.gz")).count() == 3;
    while !is_done() {
        assert!(start.elapsed() < LONG);
        thread::sleep(Duration::from_millis(1));
    }
    assert!(fifo.exists());
}
