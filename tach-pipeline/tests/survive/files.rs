//! What others do to the file of a living process: they delete it, cut it, read it, or leave it no
//! room.

use core::time::Duration;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::Instant;

use crate::kills::{kill_after, recovered, started};
use crate::scene::{Count, Random, Scene, Summary, is_aside};
use crate::unix::whole;

/// The longest that a busy machine may take.
const LONG: Duration = Duration::from_secs(60);

/// Waits until there is another file than the ones before, and the records before it are written.
fn wait_for_another(scene: &Scene, before: &[PathBuf], child: &mut Child) {
    let start = Instant::now();
    let mut wait = |what| {
        assert_eq!(child.try_wait().unwrap(), None, "the child has ended");
        assert!(start.elapsed() < LONG, "{what}");
        thread::sleep(Duration::from_millis(20));
    };
    while !scene.left().iter().any(|file| !before.contains(file)) {
        wait("no other file");
    }
    let mut has_gone_on = |more: u64| {
        let returned = scene.returned();
        let has_gone_on = || {
            let mut next = vec![0; returned.len()];
            for (thread, number) in scene.lines().iter().filter_map(|line| whole(line)) {
                let next: &mut u64 = &mut next[thread.parse::<usize>().unwrap()];
                *next = (*next).max(number.parse::<u64>().unwrap() + 1);
            }
            next.iter()
                .zip(&returned)
                .all(|(&next, &returned)| returned == 0 || next >= returned + more)
        };
        while !has_gone_on() {
            wait("the log does not go on");
        }
    };
    // The back end has read what was in the lost file.
    has_gone_on(0);
    // A call may have begun before that. The next call of its thread finds that its ring is of no
    // use, and the record of the call after that is in the new file.
    has_gone_on(3);
}

/// The log goes on, and records are protected by another file.
pub(crate) fn deleted(scene: &Scene, seed: u64) -> Summary {
    // Without rotation, which would leave fewer records to lose.
    let mut child = started(scene.child("flood", 4 * seed));
    thread::sleep(Duration::from_micros(Random(seed).below(60_000)));
    let before = scene.left();
    for file in &before {
        fs::remove_file(file).unwrap();
    }
    wait_for_another(scene, &before, &mut child);
    kill_after(child, Random(seed ^ 0xde1).below(60_000));
    recovered(scene, seed)
}

/// No log call ends the process by SIGBUS. What was in the file is lost with it, and so may be the
/// next record of each thread. All that comes behind these is there, and no record is torn.
pub(crate) fn cut(scene: &Scene, seed: u64) -> Summary {
    let mut child = started(scene.child("flood", 4 * seed));
    thread::sleep(Duration::from_micros(Random(seed).below(60_000)));
    let before = scene.left();
    for file in &before {
        let file = File::options().write(true).open(file).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(if seed % 2 == 0 { 0 } else { Random(seed).below(length) }).unwrap();
    }
    wait_for_another(scene, &before, &mut child);
    let until = scene.returned();
    thread::sleep(Duration::from_micros(Random(seed ^ 0xc7).below(60_000)));
    assert_eq!(child.try_wait().unwrap(), None, "the child has ended");
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    scene.recover();
    let mut summary = Summary::default();
    let mut there = BTreeSet::new();
    for line in scene.lines() {
        summary.reports += u64::from(line.contains("ended before it had written"));
        summary.recovered += u64::from(line.contains("recovered_pid"));
        let record = whole(&line).map(|(thread, number)| (thread.to_owned(), number.to_owned()));
        let is_own = line.contains("tach_pipeline") || line.contains("alive");
        assert!(record.is_some() || is_own, "seed {seed}: torn {line:?}");
        assert!(!line.contains('\0'), "seed {seed}: torn {line:?}");
        there.extend(record);
    }
    summary.records = there.len() as u64;
    // Threads may end faster than the log is written, and need more rings than a file has.
    if scene.lines().iter().any(|line| line.contains("rings_outside=")) {
        return summary;
    }
    for (thread, (from, to)) in until.into_iter().zip(scene.returned()).enumerate() {
        for number in from..to {
            let record = (thread.to_string(), number.to_string());
            assert!(there.contains(&record), "seed {seed}: {record:?} is lost");
        }
    }
    summary
}

/// A process may make no long files. No record finds room, and none ends the process by SIGXFSZ.
pub(crate) fn limited(scene: &Scene, seed: u64) -> Summary {
    let child = started(scene.child("short files", seed));
    kill_after(child, 0);
    recovered(scene, seed)
}

/// A process reads and closes its own file, as a backup would. Other processes start meanwhile, and
/// take nothing.
pub(crate) fn read_and_closed(scene: &Scene, seed: u64) -> Summary {
    let mut child = started(scene.child("read and close", 4 * seed));
    let before = scene.left();
    for _ in 0..3 {
        scene.recover();
        assert_eq!(child.try_wait().unwrap(), None, "the child has ended");
    }
    let left = scene.left();
    assert!(before.iter().all(|file| left.contains(file)), "{before:?}, {left:?}");
    assert!(!scene.lines().iter().any(|line| line.contains("recovered_pid")), "it lives");
    kill_after(child, Random(seed ^ 0xc105e).below(60_000));
    recovered(scene, seed)
}

/// A process after the other is killed while it logs and passes on what the one before left. Files
/// of other versions, damaged ones and others' come in between.
pub(crate) fn in_a_row(scene: &Scene, seed: u64) -> Summary {
    const LIVES: u64 = 25;
    let mut random = Random(seed ^ 0x0a11);
    let mut lives = Vec::new();
    for life in 0..LIVES {
        let first = scene.returned()[0] + 1;
        // The next life begins with another number than a call that has not returned.
        Count::new(scene, 0).set(first);
        let child = started(scene.child("go on", 4 * seed));
        kill_after(child, random.below(20_000));
        lives.push(first..scene.returned()[0]);
        let left = scene.left();
        let mut bytes = left.last().map_or_else(|| vec![7; 5_000], |file| fs::read(file).unwrap());
        // The version, the batch of the first sink, or all.
        let at = random.of(&[8, 4096 + 24, 0]);
        let end = if at == 0 { bytes.len() } else { at + 8 };
        bytes.get_mut(at..end).unwrap_or_default().fill(0x5a);
        // No process uses the file.
        bytes.get_mut(272..304).unwrap_or_default().fill(0);
        let file = scene.files().join(format!("tach-1-{life:016x}.rings"));
        fs::write(&file, bytes).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    scene.recover();
    let mut summary = Summary::default();
    let mut there = BTreeSet::new();
    for line in scene.lines() {
        summary.reports += u64::from(line.contains("ended before it had written"));
        summary.recovered += u64::from(line.contains("recovered_pid"));
        there.extend(whole(&line).map(|(_, number)| number.parse::<u64>().unwrap()));
    }
    summary.records = there.len() as u64;
    for number in lives.into_iter().flatten() {
        assert!(there.contains(&number), "seed {seed}: {number} is lost");
    }
    let aside = fs::read_dir(scene.files())
        .unwrap()
        .filter(|file| is_aside(&file.as_ref().unwrap().path()));
    assert!(aside.count() <= 4, "those that can't be read are few");
    summary
}
