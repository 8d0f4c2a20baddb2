//! The fault loop: each system call of a program fails once, at each of its occurrences, with each
//! plausible error.
//!
//! A program is two ignored tests of a package's `tests/it`, which get a folder in
//! `TACH_FAULTS_FOLDER`:
//!
//! - The first one reads from its standard input, does its work in the folder, notes there what it
//!   knows to be lost, and ends by `std::process::exit(0)`, so that the test's own output can't
//!   fail. The calls before the read never fail. A fault may be an error of `build`, but no panic,
//!   no signal and no hang.
//! - The second one checks the folder: it panics if something is lost that was not counted.
//!   `TACH_FAULTS_CALL` has the name of the call that failed.
//!
//! To add a program, add its line to [`PROGRAMS`]. `cargo xtask faults PROGRAM RUN CHECK` lets one
//! that is built already go through all its faults.
//!
//! strace counts the calls of each thread, so the occurrence with a number fails in each thread
//! that comes so far.
#![expect(clippy::print_stdout, reason = "the counts are the task's output")]

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::built;
use crate::ci::Tier;
use crate::files;
use crate::run::target;

/// The package, and its two tests.
const PROGRAMS: [(&str, &str, &str); 2] = [
    ("tach-pipeline", "fault_loop::program", "fault_loop::check"),
    ("tach-pipeline", "fault_loop::program_that_survives", "fault_loop::check"),
];

/// The calls, and their errors. Calls for memory are left out, since the allocator ends the process
/// then, and `futex`, whose wake-ups never fail.
const ERRORS: [(&str, &[&str]); 26] = [
    ("chmod", &["EPERM"]),
    ("clock_nanosleep", &["EINTR"]),
    ("clone3", &["EAGAIN"]),
    ("close", &["EIO"]),
    ("epoll_wait", &["EINTR"]),
    ("fallocate", &["ENOSPC", "EOPNOTSUPP", "EINTR"]),
    ("fchmod", &["EPERM"]),
    ("fchown", &["EPERM"]),
    ("fcntl", &["ENOLCK", "EINTR"]),
    ("fdatasync", &["EIO", "ENOSPC", "EINTR"]),
    ("flock", &["ENOLCK", "EINTR"]),
    ("fstat", &["EIO"]),
    ("fstatfs", &["EIO"]),
    ("fsync", &["EIO", "ENOSPC", "EINTR"]),
    ("ftruncate", &["EIO", "EINTR"]),
    ("getdents64", &["EIO"]),
    ("mkdirat", &["ENOSPC", "EACCES"]),
    ("newfstatat", &["EIO", "EACCES"]),
    ("openat", &["EMFILE", "ENOSPC", "EACCES", "EINTR"]),
    ("pwrite64", &["EIO", "ENOSPC", "EINTR"]),
    ("read", &["EIO", "EINTR"]),
    ("renameat", &["ENOSPC", "EACCES"]),
    ("renameat2", &["ENOSPC", "EACCES", "EINVAL"]),
    ("statx", &["EIO", "EACCES"]),
    ("unlinkat", &["EACCES", "EIO"]),
    ("write", &["ENOSPC", "EIO", "EINTR", "EAGAIN"]),
];

/// The most cases of a program for each change, spread over all of them.
const FEW: usize = 60;
/// A case that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(90);

/// A call that fails: its name, its error, and the number of its occurrence in a thread.
type Case = (&'static str, &'static str, usize);

/// Runs the programs with all faults, or with a few.
pub(crate) fn check(tier: Tier) -> Result<(), String> {
    let works = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        println!("NOT RUN: the fault loop needs strace");
        return Ok(());
    }
    for (package, run, check) in PROGRAMS {
        let program = built::test(package, "it")?.get_program().into();
        Loop { program, run: run.to_owned(), check: check.to_owned() }.all(tier)?;
    }
    Ok(())
}

/// Runs a program with all faults: its path, and the names of its two tests.
pub(crate) fn check_one(arguments: &[String]) -> Result<(), String> {
    let [program, run, check] = arguments else { return check(Tier::Full) };
    Loop { program: program.into(), run: run.clone(), check: check.clone() }.all(Tier::Full)
}

struct Loop {
    program: PathBuf,
    run: String,
    check: String,
}

impl Loop {
    fn all(&self, tier: Tier) -> Result<(), String> {
        let folder = target().join("faults");
        files::create_folder(&folder)?;
        let counts = self.counts(&folder)?;
        let all = cases(&counts);
        let step = if tier == Tier::Change { all.len().div_ceil(FEW) } else { 1 };
        let chosen: Vec<_> = all.iter().step_by(step.max(1)).collect();
        let left: Vec<_> =
            counts.keys().filter(|call| errors(call).is_none()).map(String::as_str).collect();
        println!("{}: {} of {} faults", self.run, chosen.len(), all.len());
        println!("calls that always succeed: {}", left.join(" "));
        let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let threads = thread::available_parallelism().map_or(2, usize::from);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    // ORDERING: each number is taken once, and publishes nothing.
                    while let Some(case) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let (call, error, at) = **case;
                        if let Err(problem) = self.one(&folder, **case) {
                            let failure = format!("{call} {error} {at}: {problem}");
                            println!("{failure}");
                            failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
                        }
                    }
                });
            }
        });
        let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
    }

    /// Returns how often each call occurs in the thread that makes it most often.
    fn counts(&self, folder: &Path) -> Result<BTreeMap<String, usize>, String> {
        let (of, trace) = (folder.join("counted"), folder.join("trace"));
        let trace = trace.as_path();
        self.case(&of, "", |strace| strace.arg("-o").arg(trace))?;
        let mut threads = BTreeMap::<(&str, &str), usize>::new();
        let text = files::read(trace)?;
        for line in text.lines() {
            let Some((thread, rest)) = line.split_once(' ') else { continue };
            let Some((call, _)) = rest.trim_start().split_once('(') else { continue };
            if call.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                *threads.entry((call, thread)).or_default() += 1;
            }
        }
        let mut counts = BTreeMap::<String, usize>::new();
        for ((call, _), count) in threads {
            let most = counts.entry(call.to_owned()).or_default();
            *most = count.max(*most);
        }
        Ok(counts)
    }

    fn one(&self, folder: &Path, (call, error, at): Case) -> Result<(), String> {
        let folder = folder.join(format!("{call}-{error}-{at}"));
        self.case(&folder, call, |strace| {
            let inject = format!("inject={call}:error={error}:when={at}");
            strace.args(["-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject])
        })
    }

    /// Runs the program below strace with these options, and checks its folder.
    fn case(
        &self,
        folder: &Path,
        call: &str,
        options: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<(), String> {
        let _none = fs::remove_dir_all(folder);
        files::create_folder(folder)?;
        let said = folder.with_extension("said");
        let output = || File::create(&said).map_err(|error| format!("{}: {error}", said.display()));
        let test = |name: &str| {
            let mut test = Command::new(&self.program);
            test.args(["--exact", "--ignored", "--nocapture", "--test-threads", "1", name]);
            test.env("TACH_FAULTS_FOLDER", folder).env("TACH_FAULTS_CALL", call);
            test
        };
        let cannot = |error| format!("can't start {}: {error}", self.program.display());
        let mut run = test(&self.run);
        run.stdin(Stdio::piped()).stdout(output()?).stderr(output()?);
        let mut run = run.spawn().map_err(cannot)?;
        wait(LONGEST, || reads(run.id()));
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-p", &run.id().to_string()]).stderr(Stdio::null());
        let strace = options(&mut strace).spawn();
        let mut strace = strace.map_err(|error| format!("can't start strace: {error}"))?;
        wait(LONGEST, || is_traced(run.id()));
        let _has_ended = run.stdin.take().map(|mut input| input.write_all(b"!"));
        let ended = end(&mut run);
        let _detached = strace.wait();
        let ended = ended.ok_or_else(|| format!("it hangs; {}", said.display()))?;
        if !ended.success() {
            return Err(format!("{ended}; {}", said.display()));
        }
        let checked = test(&self.check).stdin(Stdio::null()).output().map_err(cannot)?;
        if !checked.status.success() {
            let words = String::from_utf8_lossy(&checked.stderr).into_owned();
            let lines = words.lines().skip_while(|line| !line.contains("panicked"));
            return Err(lines.take(3).collect::<Vec<_>>().join(" "));
        }
        let _tidy = (fs::remove_dir_all(folder), fs::remove_file(&said));
        Ok(())
    }
}

/// Returns all faults: of a program that makes a call `n` times, `n` for each of its errors.
fn cases(counts: &BTreeMap<String, usize>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (call, errors) in ERRORS {
        for at in 1..=counts.get(call).copied().unwrap_or_default() {
            cases.extend(errors.iter().map(|error| (call, *error, at)));
        }
    }
    cases
}

fn errors(call: &str) -> Option<&'static [&'static str]> {
    ERRORS.iter().find(|(known, _)| *known == call).map(|(_, errors)| *errors)
}

/// Waits until `is_so`, for `most` at most.
fn wait(most: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() > most {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Waits for a process, and kills it if it hangs.
fn end(child: &mut Child) -> Option<ExitStatus> {
    let mut status = None;
    wait(LONGEST, || {
        status = child.try_wait().ok().flatten();
        status.is_some()
    });
    if status.is_none() {
        let _has_ended = child.kill();
        let _killed = child.wait();
    }
    status
}

/// Returns the texts of a file about each thread of a process.
fn of_threads(process: u32, file: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads.map(|it| fs::read_to_string(it.path().join(file)).unwrap_or_default()).collect()
}

/// Returns whether a thread of a process reads its standard input: the call has the number 0 on
/// `x86_64`, and 63 on other machines.
fn reads(process: u32) -> bool {
    let is_read = |call: &String| call.starts_with("0 0x0 ") || call.starts_with("63 0x0 ");
    of_threads(process, "syscall").iter().any(is_read)
}

/// Returns whether strace follows all threads of a process.
fn is_traced(process: u32) -> bool {
    let is_traced = |status: &String| !status.contains("TracerPid:\t0\n");
    of_threads(process, "status").iter().all(is_traced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_occurrence_has_each_error() {
        let counts = BTreeMap::from([("read".to_owned(), 2), ("getpid".to_owned(), 7)]);
        let all =
            [("read", "EIO", 1), ("read", "EINTR", 1), ("read", "EIO", 2), ("read", "EINTR", 2)];
        assert_eq!(cases(&counts), all);
        assert!(ERRORS.is_sorted_by(|one, other| one.0 < other.0));
    }
}
