//! Kills children and counts what is in the log.

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Child;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::{env, fs, thread};

use crate::files;
use crate::scene::{CLONES, Random, Scene, Sinks, Summary};
use crate::spans;
use crate::unix;

/// Returns how many children to kill: fewer in CI than by hand.
fn kills(few: u64) -> u64 {
    env::var("TACH_KILLS").ok().map_or(few, |count| few * count.parse::<u64>().unwrap() / 100)
}

fn first_seed() -> u64 {
    env::var("TACH_SEED").ok().map_or(0, |seed| seed.parse().unwrap())
}

type Test = (&'static str, u64, Sinks, fn(&Scene, u64) -> Summary);

/// The tests, and how many children each of them kills if `TACH_KILLS` is 100.
const TESTS: &[Test] = &[
    ("a_killed_process", 40, Sinks::One, killed),
    ("a_recovery_that_is_killed_too", 20, Sinks::One, recovery_killed),
    ("several_files", 20, Sinks::Files, killed),
    ("several_files_and_a_recovery_that_is_killed_too", 20, Sinks::Files, recovery_killed),
    ("other_sinks", 20, Sinks::Others, killed),
    ("other_sinks_and_a_recovery_that_is_killed_too", 20, Sinks::Others, recovery_killed),
    ("a_collector_that_stays_away", 2, Sinks::Collector, away),
    ("spans", 30, Sinks::One, spans::killed),
    ("a_flight_recorder", 20, Sinks::One, spans::recorder_killed),
    ("threads_that_end_soon", 30, Sinks::One, churns),
    ("abort", 5, Sinks::One, |scene, seed| ends(scene, seed, "abort")),
    ("a_segmentation_fault", 5, Sinks::One, |scene, seed| ends(scene, seed, "segfault")),
    ("_exit", 5, Sinks::One, |scene, seed| ends(scene, seed, "_exit")),
    (EXIT, 20, Sinks::Files, exits),
    ("exec", 6, Sinks::One, executes),
    ("the_oom_killer", 5, Sinks::One, unix::out_of_memory),
    ("a_memory_limit", 5, Sinks::One, unix::memory_limited),
    (CLONES, 10, Sinks::One, unix::clones),
    ("two_programs_with_one_folder_and_one_log", 10, Sinks::One, two),
    ("a_policy_that_drops", 5, Sinks::One, drops),
    ("a_rate_limit", 5, Sinks::One, limited),
    ("a_sink_that_stalls", 5, Sinks::One, unix::stalls),
    ("a_folder_that_is_full", 3, Sinks::One, unix::full),
    ("a_file_that_is_deleted", 5, Sinks::One, files::deleted),
    ("a_file_that_is_cut", 6, Sinks::One, files::cut),
    (NO_ROOM, 2, Sinks::One, files::limited),
    ("a_program_that_reads_its_own_file", 3, Sinks::One, files::read_and_closed),
    ("deaths_in_a_row", 2, Sinks::One, files::in_a_row),
    ("more_files_than_a_folder_holds", 1, Sinks::One, unix::many),
];

/// The tests whose children end by an abort.
const ABORTS: [&str; 2] = ["abort", "a_policy_that_drops"];
/// The test whose children write all records before they are killed.
const NO_ROOM: &str = "a_limit_of_the_length_of_files";
/// The test whose children end well.
const EXIT: &str = "a_clean_exit_of_several_files";
/// The tests whose kills leave nothing to recover.
const NOTHING: [&str; 2] = [EXIT, NO_ROOM];

pub(crate) fn run() {
    let only = env::args().nth(1).filter(|only| !only.starts_with('-'));
    let progress = watched();
    for &(name, few, sinks, test) in TESTS {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let (mut sum, kills) = (Summary::default(), kills(few).max(1));
        for seed in first_seed().. {
            let done = seed - first_seed();
            // On a busy machine, few kills may meet nothing: then go on.
            if done >= kills && (sum.meets(name) || done >= 10 * kills) {
                break;
            }
            progress.send(format!("{name}, seed {seed}")).unwrap();
            let scene = Scene::new(&format!("{name}-{seed}"), sinks);
            let there = test(&scene, seed);
            // The program that passed the records on may end before it has removed its own file.
            assert!(scene.left().len() <= 1, "{name}, seed {seed}: {:?}", scene.left());
            sum.records += there.records;
            sum.recovered += there.recovered;
            sum.reports += there.reports;
            sum.twice += there.twice;
            sum.spans += there.spans;
            scene.remove();
        }
        let mut stdout = std::io::stdout();
        writeln!(stdout, "test {name} ... ok, {kills} kills: {sum:?}").unwrap();
        assert!(sum.meets(name), "{name}");
        assert!(sum.reports == 0 || !NOTHING.contains(&name), "{name}");
    }
}

impl Summary {
    /// A control: the kills met records that were not written. An abort flushes them itself.
    fn meets(&self, name: &str) -> bool {
        let has_none = NOTHING.contains(&name);
        let has_spans = ["spans", "a_flight_recorder"].contains(&name);
        (self.recovered > 0 || ABORTS.contains(&name) || has_none)
            && (self.reports > 0 || has_none)
            && (self.spans > 0 || !has_spans)
    }
}

/// Ends the process if a test hangs, which would otherwise stop all tests after it without a word.
/// Send the name of each test that begins.
fn watched() -> Sender<String> {
    /// A test takes some seconds, on a busy machine many.
    const LONGEST: Duration = Duration::from_secs(300);
    let (progress, begun) = mpsc::channel();
    thread::spawn(move || {
        let mut last = String::new();
        loop {
            match begun.recv_timeout(LONGEST) {
                Ok(name) => last = name,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("{last}: hangs");
                    std::process::exit(1);
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    });
    progress
}

pub(crate) fn killed(scene: &Scene, seed: u64) -> Summary {
    kill_flood(scene, seed);
    recovered(scene, seed)
}

pub(crate) fn recovered(scene: &Scene, seed: u64) -> Summary {
    scene.recover();
    scene.check(seed)
}

/// A collector refuses all requests for seconds. Two processes, one after the other, log a record a
/// second and are killed.
fn away(scene: &Scene, seed: u64) -> Summary {
    const EACH: u64 = 3;
    let collector = scene.receivers.as_ref().unwrap();
    let refused = || collector.refusals.load(Ordering::SeqCst);
    collector.is_away.store(true, Ordering::SeqCst);
    for life in 0..2 {
        let before = refused();
        let mut child = started(scene.numbered_child("paced", 4 * seed, life));
        let mut stdin = child.stdin.take().unwrap();
        for at in 1..=EACH {
            stdin.write_all(b"\n").unwrap();
            while scene.returned()[life] < at {
                assert_eq!(child.try_wait().unwrap(), None, "the child has ended");
                thread::sleep(Duration::from_millis(1));
            }
            // In half of the runs, the last record is not with the sinks yet.
            if at < EACH || seed % 2 == 0 {
                thread::sleep(Duration::from_secs(1));
            }
        }
        while refused() == before {
            assert_eq!(child.try_wait().unwrap(), None, "the child has ended");
            thread::sleep(Duration::from_millis(5));
        }
        kill_after(child, Random(seed ^ 0xaa).below(2_000));
    }
    assert_eq!(scene.lines_of("collector.log"), [""; 0], "a control: nothing was accepted");
    collector.is_away.store(false, Ordering::SeqCst);
    let summary = recovered(scene, seed);
    assert_eq!(summary.records, 2 * EACH, "seed {seed}");
    Summary { recovered: summary.records, ..summary }
}

/// Threads end and begin faster than the log is written.
fn churns(scene: &Scene, seed: u64) -> Summary {
    let child = started(scene.child("churn", seed));
    kill_after(child, 50_000 + Random(seed ^ 0xc4).below(200_000));
    let summary = recovered(scene, seed);
    let outside = scene.lines().into_iter().find(|line| line.contains("rings_outside"));
    assert_eq!(outside, None, "a thread had no ring in the file");
    summary
}

pub(crate) fn kill_flood(scene: &Scene, seed: u64) {
    let child = started(scene.child("flood", seed));
    kill_after(child, Random(seed ^ 0x5eed).below(60_000));
}

/// Kills processes that pass records on, at random moments of their start.
fn recovery_killed(scene: &Scene, seed: u64) -> Summary {
    kill_flood(scene, seed);
    let mut random = Random(seed ^ 0xdead);
    for _ in 0..=random.below(6) {
        let most = random.of(&[3_000, 10_000, 30_000]);
        if random.below(4) == 0 {
            // This process logs too, in threads with other numbers.
            let first = 8 * (1 + random.size(6));
            if scene.returned()[first..first + 8].iter().all(|count| *count == 0) {
                kill_after(scene.numbered_child("flood", seed, first), 5_000 + random.below(most));
                continue;
            }
        }
        kill_after(scene.child("recover", seed), random.below(most));
    }
    recovered(scene, seed)
}

fn ends(scene: &Scene, seed: u64, role: &str) -> Summary {
    let mut child = started(scene.child(role, seed));
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child.wait().unwrap();
    recovered(scene, seed)
}

/// A process replaces its program, by itself or by another one. Each has the number and the start
/// of the one before, and lives when the records are passed on.
fn executes(scene: &Scene, seed: u64) -> Summary {
    let roles = ["exec", "exec another", "fork and exec"];
    let role = roles[usize::try_from(seed % 3).unwrap()];
    let mut child = started(scene.child(role, seed));
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    if role == "exec another" {
        let name = || fs::read_to_string(format!("/proc/{}/comm", child.id())).unwrap();
        while name() != "sleep\n" {
            thread::sleep(Duration::from_millis(1));
        }
        scene.recover();
        assert_eq!(child.try_wait().unwrap(), None, "a control: the process lives");
        kill_after(child, 0);
    } else {
        let status = child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
    scene.check(seed)
}

/// Nothing is left for the next start, and nothing stands twice.
fn exits(scene: &Scene, seed: u64) -> Summary {
    let status = started(scene.child("exit", seed)).wait().unwrap();
    assert!(status.success(), "{status}");
    let summary = recovered(scene, seed);
    assert_eq!((summary.recovered, summary.twice, summary.reports), (0, 0, 0), "seed {seed}");
    summary
}

fn two(scene: &Scene, seed: u64) -> Summary {
    // Neither rotates: another process may have renamed the file that one of them was writing.
    let seed = if seed % 4 == 3 { seed + 1 } else { seed };
    let one = started(scene.numbered_child("flood", seed, 0));
    let other = started(scene.numbered_child("flood", seed + 100, 8));
    let mut random = Random(seed ^ 0x22);
    kill_after(one, random.below(40_000));
    // Recover while the other program goes on logging.
    scene.recover();
    kill_after(other, random.below(40_000));
    scene.recover();
    scene.check_shared(seed)
}

/// A full queue drops records, in the middle of the sequence.
fn drops(scene: &Scene, seed: u64) -> Summary {
    let role = if seed % 2 == 0 { "drop newest" } else { "drop oldest" };
    let child = started(scene.child(role, seed));
    kill_after(child, Random(seed).below(60_000));
    scene.recover();
    scene.check_some(seed)
}

/// The records over the limit are counted, by the process in its log or by the report.
fn limited(scene: &Scene, seed: u64) -> Summary {
    let child = started(scene.child("limited", 0));
    kill_after(child, 20_000 + Random(seed).below(60_000));
    let summary = {
        scene.recover();
        scene.check_some(seed)
    };
    let lines = scene.lines();
    let number = |key: &str, line: &String| {
        let (_, rest) = line.split_once(key)?;
        rest.split(' ').next()?.parse::<u64>().ok()
    };
    let said = lines.iter().filter(|line| line.contains("records over the rate limit at"));
    let said: u64 = said.filter_map(|line| number("count=", line)).sum();
    let refused: u64 = lines.iter().filter_map(|line| number(" dropped=", line)).sum();
    // One more call may not have returned.
    let (all, returned) = (summary.records + said + refused, scene.returned()[0]);
    assert!(all == returned || all == returned + 1, "seed {seed}: {all} {returned} {lines:?}");
    assert!(refused > 0 || said > 0, "a control: the limit was met");
    Summary { recovered: summary.recovered + refused, ..summary }
}

/// Waits until a child logs.
pub(crate) fn started(mut child: Child) -> Child {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "started\n");
    child
}

pub(crate) fn kill_after(mut child: Child, micros: u64) {
    thread::sleep(Duration::from_micros(micros));
    child.kill().unwrap();
    child.wait().unwrap();
}
