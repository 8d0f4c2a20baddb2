//! System calls that fail: no record is lost uncounted, and no failure is reported without end.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::{env, fs};

use tach_pipeline::{Pipeline, Rotation, Sink, SyncPolicy};

use crate::support::{Folder, LONG, info};

const FOLDER: &str = "TACH_PIPELINE_INJECTED";
const COUNT: u64 = 3_000;
/// The most incidents of a case. Each of the states that may begin is reported at once, and again
/// after one second, two more, and so on.
const FEW: usize = 60;

/// The system calls of a file and of its rotation, their errors, and which calls of a thread fail.
/// The first calls of `openat` and the like load the program.
const CASES: [(&str, &str, &str); 17] = [
    ("write", "ENOSPC", "3+3"),
    ("write", "EIO", "2+2"),
    ("write", "EINTR", "2+2"),
    ("write", "EAGAIN", "2+3"),
    ("write", "EDQUOT", "2+"),
    ("rename,renameat,renameat2", "EACCES", "1+"),
    ("rename,renameat,renameat2", "ENOSPC", "1+2"),
    ("openat,openat2", "EMFILE", "20+"),
    ("newfstatat,statx,fstat", "EIO", "20+2"),
    ("newfstatat,statx,fstat", "EACCES", "20+"),
    ("mkdir,mkdirat", "EROFS", "1+"),
    ("fdatasync", "EIO", "1+2"),
    ("fdatasync", "ENOSPC", "1+3"),
    // The build makes the first call, and would fail with it.
    ("fsync", "EIO", "2+"),
    ("flock", "ENOLCK", "1+"),
    ("getdents64", "EIO", "1+"),
    ("unlink,unlinkat", "EACCES", "1+"),
];

/// Not a test: a program that logs below `strace`.
#[test]
#[ignore = "the child of the next test"]
fn logs() {
    let Some(folder) = env::var_os(FOLDER).map(std::path::PathBuf::from) else { return };
    // The first write of this thread, which no case lets fail.
    fs::write(folder.join("report"), "began").unwrap();
    let incidents = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&incidents);
    let rotation = Rotation::new().max_bytes(64 * 1024).keep(1_000);
    let file = Sink::file(folder.join("app.log")).rotate(rotation).sync(SyncPolicy::Every);
    let builder = Pipeline::builder().sink(file).on_incident(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let guard = builder.build().unwrap();
    for number in 0..COUNT {
        info(guard.pipeline(), &format!("{} {number}", "x".repeat(100)));
        if number % 100 == 99 {
            let _may_fail = guard.pipeline().flush(LONG);
        }
    }
    let _may_fail = (0..20).find(|_| guard.pipeline().flush(LONG).is_ok());
    let stats = guard.pipeline().stats();
    let lost = stats.dropped() + stats.sinks()[0].dropped() + stats.sinks()[0].waiting();
    let report = format!("{lost} {}", incidents.load(Ordering::SeqCst));
    // Another thread, whose first write no case lets fail either.
    let path = folder.join("report");
    std::thread::spawn(|| fs::write(path, report).unwrap()).join().unwrap();
}

#[test]
fn no_record_is_lost_uncounted_whichever_call_fails() {
    let works = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        eprintln!("NOT RUN: no_record_is_lost_uncounted needs strace");
        assert_ne!(env::var("TACH_TESTS").as_deref(), Ok("all"));
        return;
    }
    for (at, (calls, error, when)) in CASES.iter().enumerate() {
        let case = format!("{calls} {error} {when}");
        let folder = Folder::new(&format!("injected-{at}"));
        fs::create_dir(folder.path("logs")).unwrap();
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={calls}"), "-e"]);
        strace.arg(format!("inject={calls}:error={error}:when={when}"));
        strace.arg(env::current_exe().unwrap()).args(["--exact", "--ignored", "injected::logs"]);
        // The loader looks for each library in each of these folders, and the calls are counted.
        strace.env_remove("LD_LIBRARY_PATH");
        let output = strace.env(FOLDER, folder.path("logs")).output().unwrap();
        let report = fs::read_to_string(folder.path("logs").join("report")).unwrap();
        let numbers: Vec<u64> =
            report.split(' ').filter_map(|number| number.parse().ok()).collect();
        let [lost, incidents] = numbers[..] else { panic!("{case}: {report} {output:?}") };
        let mut found = BTreeMap::<u64, u32>::new();
        for file in fs::read_dir(folder.path("logs")).unwrap() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            for line in text.lines().filter(|line| line.contains("app: x")) {
                let number = line.rsplit_once(' ').unwrap().1.parse().unwrap();
                *found.entry(number).or_default() += 1;
            }
        }
        let missing = COUNT - found.len() as u64;
        assert!(missing <= lost, "{case}: {missing} are missing, {lost} are counted");
        // Only a write that the disk does not confirm is repeated.
        assert!(*calls == "fdatasync" || found.values().all(|times| *times == 1), "{case}");
        assert!(usize::try_from(incidents).unwrap() <= FEW, "{case}: {incidents} incidents");
        eprintln!("{case}: {missing} missing, {lost} counted, {incidents} incidents");
    }
}
