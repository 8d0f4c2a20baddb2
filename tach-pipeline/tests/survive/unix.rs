//! Deaths and sinks that only the system makes: the OOM killer, forks, FIFOs, a full disk.

use core::time::Duration;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs, thread};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::kills::{kill_after, kill_flood, killed, recovered, started};
use crate::scene::{Random, Scene, Summary};

/// A service with little memory, whose folder is on tmpfs, is killed for it. What it left stays in
/// the memory of its control group, and the next start has no more.
pub(crate) fn memory_limited(scene: &Scene, seed: u64) -> Summary {
    fs::create_dir_all(scene.files()).unwrap();
    let Some(group) = Group::new(&scene.folder, 48).filter(|_| mount(scene, "size=64m")) else {
        eprintln!("NOT RUN: a_memory_limit needs the rights to make a control group and a tmpfs");
        return killed(scene, seed);
    };
    let mut child = started(group.start(&scene.command("out of memory with long queues", seed, 0)));
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(9), "{status}");
    let left: u64 = scene.left().iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    let status = group.start(&scene.command("recover", 0, 0)).wait().unwrap();
    assert!(status.success(), "seed {seed}: {status} with {left} bytes");
    unmount(scene);
    drop(group);
    scene.check(seed)
}

fn mount(scene: &Scene, options: &str) -> bool {
    let options = format!("{options},mode=0700");
    let mut mount = Command::new("mount");
    let mount = mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(scene.files()).status();
    mount.is_ok_and(|status| status.success())
}

fn unmount(scene: &Scene) {
    assert!(Command::new("umount").arg(scene.files()).status().unwrap().success());
}

/// The kernel ends a process whose control group has no memory left.
pub(crate) fn out_of_memory(scene: &Scene, seed: u64) -> Summary {
    let Some(group) = Group::new(&scene.folder, 64) else {
        return killed(scene, seed);
    };
    let mut child = started(scene.child("out of memory", seed));
    group.add(&child);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let status = child.wait().unwrap();
    drop(group);
    assert_eq!(status.signal(), Some(9), "{status}");
    recovered(scene, seed)
}

/// A control group with little memory.
struct Group(PathBuf);

impl Group {
    /// Creates one with so many MiB. Returns `None` if this process may not.
    fn new(scene: &Path, mebibytes: u64) -> Option<Self> {
        let memory = (mebibytes << 20).to_string();
        let name = scene.file_name().unwrap();
        // The folder and the file's name in the first and in the second version of groups.
        let made = [("memory", "memory.limit_in_bytes"), ("", "memory.max")].iter().find_map(
            |(folder, limit)| {
                let group = Self(Path::new("/sys/fs/cgroup").join(folder).join(name));
                fs::create_dir(&group.0).ok()?;
                // Don't create the file: the kernel has made it.
                let file = fs::File::options().write(true).open(group.0.join(limit));
                file.ok()?.write_all(memory.as_bytes()).ok()?;
                Some(group)
            },
        );
        if made.is_none() {
            // Also with TACH_TESTS=all: many containers have no such right.
            eprintln!("NOT RUN: the_oom_killer needs the right to make a control group");
        }
        made
    }

    /// Starts a program in the group.
    fn start(&self, program: &Command) -> Child {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo $$ > \"$0\"; exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        shell.arg(program.get_program()).args(program.get_args());
        let variables = program.get_envs().filter_map(|(key, value)| Some((key, value?)));
        shell.envs(variables).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn add(&self, child: &Child) {
        fs::write(self.0.join("cgroup.procs"), child.id().to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The group may hold the dead process for a moment.
        for _ in 0..1_000 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

pub(crate) fn clones(scene: &Scene, seed: u64) -> Summary {
    let child = started(scene.child("fork", seed));
    kill_after(child, 20_000 + Random(seed).below(60_000));
    // The children live for half a second.
    recovered(scene, seed)
}

/// A pipe that nobody reads gets some of the records later, and the log says how many are missing.
pub(crate) fn stalls(scene: &Scene, seed: u64) -> Summary {
    let path = scene.folder.join("stall");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut pipe = File::options().read(true).write(true).open(&path).unwrap();
    let child = started(scene.child("flood", 4 * seed));
    // More than a pipe and two batches hold.
    while fs::metadata(scene.log("app.log")).map_or(0, |log| log.len()) < 400_000 {
        thread::sleep(Duration::from_millis(5));
    }
    kill_after(child, Random(seed).below(20_000));
    let mut reader = pipe.try_clone().unwrap();
    let received = thread::spawn(move || {
        let (mut all, mut part) = (Vec::new(), vec![0; 64 * 1024]);
        while !all.ends_with(b"at the end\n") {
            let count = reader.read(&mut part).unwrap();
            all.extend_from_slice(&part[..count]);
        }
        String::from_utf8_lossy(&all).into_owned()
    });
    let summary = recovered(scene, 0);
    pipe.write_all(b"at the end\n").unwrap();
    let received: Vec<_> = received.join().unwrap().lines().map(str::to_owned).collect();
    let records: BTreeSet<_> = received.iter().filter_map(|line| whole(line)).collect();
    let said = |key| {
        let all = received.iter().filter(move |line| line.contains("tach_pipeline"));
        all.filter_map(move |line| {
            let (_, rest) = line.split_once(key)?;
            rest.split(' ').next()?.parse::<u64>().ok()
        })
    };
    let dropped: u64 = said(" dropped=").chain(said("lets more wait count=")).sum();
    // A report that was not written either counts as one more.
    let counted = records.len() as u64 + dropped;
    let most = summary.records + 10;
    assert!((summary.records..most).contains(&counted), "seed {seed}: {counted} {summary:?}");
    summary
}

/// Returns the thread and the number of the whole record at the end of a line.
pub(crate) fn whole(line: &str) -> Option<(&str, &str)> {
    let (_, record) = line.rsplit_once("survives ")?;
    let mut parts = record.split(' ');
    let (thread, number, _) = (parts.next()?, parts.next()?, parts.next()?);
    (parts.next()? == "end").then_some((thread, number))
}

/// The folder is a tmpfs of 1 MiB. The child must end by the kill, and not by SIGBUS.
pub(crate) fn full(scene: &Scene, seed: u64) -> Summary {
    fs::create_dir_all(scene.files()).unwrap();
    if !mount(scene, "size=1m") {
        assert!(env::var("TACH_TESTS").as_deref() != Ok("all"), "a tmpfs can't be mounted");
        eprintln!("skipped: a tmpfs can't be mounted");
        return killed(scene, seed);
    }
    let mut child = started(scene.child("flood", 2 * seed));
    thread::sleep(Duration::from_micros(50_000 + Random(seed).below(100_000)));
    child.kill().unwrap();
    let status = child.wait().unwrap();
    scene.recover();
    unmount(scene);
    assert_eq!(status.signal(), Some(9), "{status}");
    scene.check_some(seed)
}

/// A file is there 40 times, as after as many processes that ended before they had passed it on.
/// The youngest four are passed on. The log counts the records of the others.
pub(crate) fn many(scene: &Scene, seed: u64) -> Summary {
    kill_flood(scene, seed);
    let [path] = &scene.left()[..] else { panic!("one process was killed") };
    let bytes = fs::read(path).unwrap();
    for id in 0..40_u64 {
        let copy = scene.files().join(format!("tach-1-{id:016x}.rings"));
        fs::write(&copy, &bytes).unwrap();
        fs::set_permissions(copy, fs::Permissions::from_mode(0o600)).unwrap();
    }
    fs::remove_file(path).unwrap();
    let written = scene.lines().iter().filter(|line| line.contains("survives ")).count() as u64;
    scene.recover();
    let lines = scene.lines();
    let reports = lines.iter().filter(|line| line.contains("ended before it had written")).count();
    if reports == 0 {
        // All was written when the process was killed.
        return Summary::default();
    }
    assert_eq!(reports, 4);
    let recovered = lines.iter().filter(|line| line.contains("survives ")).count() as u64;
    let recovered = recovered - written;
    assert_eq!(recovered % 4, 0);
    let dropped =
        lines.iter().find(|line| line.contains("records of processes that ended are lost"));
    let dropped = dropped.and_then(|line| line.split_once(" count="));
    let dropped = dropped.map(|(_, count)| count.split(' ').next().unwrap().parse::<u64>());
    // The ends of spans that were in the queues are lost with the records.
    let ends = lines.iter().find_map(|line| line.split_once(" spans_lost="));
    let ends = ends.map_or(0, |(_, count)| count.split(' ').next().unwrap().parse().unwrap());
    assert_eq!(dropped, Some(Ok(36 * (recovered / 4 + ends))));
    Summary { recovered, reports: reports as u64, ..Summary::default() }
}
