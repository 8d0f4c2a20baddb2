//! What loggers lose when their process is killed by SIGKILL in the middle of a flood.
//!
//! A child logs as fast as it can from four threads, and counts the calls that have returned in a
//! mapped file. Its parent kills it at a random moment, lets a next start recover what it can, and
//! counts the whole lines in the log.
//!
//! ```sh
//! cargo xtask bench kills [--quick] [PART...]
//! ```

#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "counts the calls that have returned in a mapped file")
)]
#![expect(clippy::print_stdout, reason = "says that the flood has begun")]

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("NOT RUN: records outlive a process on Linux alone");
}

#[cfg(target_os = "linux")]
mod linux {
    use core::sync::atomic::{AtomicU64, Ordering};
    use core::time::Duration;
    use std::collections::HashSet;
    use std::fs::{self, File};
    use std::io::{BufRead as _, BufReader};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::{env, process, thread};

    use bench_tables::{Arguments, Report, Table, column};
    use benches::loggers::{KILLED, Subject};

    const THREADS: usize = 4;
    const KILLS: u64 = 100;
    /// The roles of a child: it floods until it is killed, or it starts next.
    const FLOOD: &str = "flood";
    const NEXT: &str = "next";

    pub(super) fn main() {
        let arguments: Vec<String> = env::args().skip(1).collect();
        if let [role, name, folder] = &arguments[..]
            && (role == FLOOD || role == NEXT)
        {
            return child(role, named(name), Path::new(folder));
        }
        let names: Vec<_> = KILLED.iter().map(|subject| subject.name).collect();
        let arguments = Arguments::read(&names);
        let kills = if arguments.quick { 5 } else { KILLS };
        let mut table = Table::new(
            &format!("lost in {kills} kills"),
            [
                column("records logged", "", 0),
                column("lost", "", 0),
                column("kills that lost some", "", 0),
                column("most in one kill", "", 0),
                column("cut lines", "", 0),
                column("twice", "", 0),
            ],
        );
        for subject in KILLED.iter().filter(|subject| arguments.wants(subject.name)) {
            let mut sum = Outcome::default();
            for seed in 0..kills {
                sum.add(&kill(subject.name, seed));
            }
            let Outcome { logged, lost, kills, most, cut, twice } = sum;
            #[expect(clippy::cast_precision_loss, reason = "figures for a table")]
            let cells = [logged, lost, kills, most, cut, twice].map(|figure| vec![figure as f64]);
            table.row(subject.name, cells);
        }
        let mut report = Report::new();
        report.table(table);
        report.end();
    }

    fn named(name: &str) -> &'static Subject {
        KILLED.iter().find(|subject| subject.name == name).expect("a subject")
    }

    /// What one kill or several lost.
    #[derive(Debug, Default)]
    struct Outcome {
        logged: u64,
        lost: u64,
        kills: u64,
        most: u64,
        cut: u64,
        twice: u64,
    }

    impl Outcome {
        fn add(&mut self, one: &Self) {
            self.logged += one.logged;
            self.lost += one.lost;
            self.kills += u64::from(one.lost > 0);
            self.most = self.most.max(one.lost);
            self.cut += one.cut;
            self.twice += one.twice;
        }
    }

    fn start(role: &str, name: &str, folder: &Path) -> process::Child {
        Command::new(env::current_exe().expect("this program"))
            .args([role, name])
            .arg(folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts again")
    }

    fn kill(name: &str, seed: u64) -> Outcome {
        let folder = env::temp_dir().join(format!("tach-kills-{}", process::id()));
        let _left_behind = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let counts = Counts::new(&folder);
        let mut child = start(FLOOD, name, &folder);
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output"))
            .read_line(&mut line)
            .expect("a line");
        // From 5 to 55 ms, by a multiplier that spreads the seeds.
        let micros = 5_000 + seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 50_000;
        thread::sleep(Duration::from_micros(micros));
        child.kill().expect("a kill");
        child.wait().expect("its end");
        assert!(start(NEXT, name, &folder).wait().expect("its end").success(), "{name}");
        let lost = count(&folder, &counts);
        fs::remove_dir_all(folder).expect("the folder");
        lost
    }

    /// Compares the log with the counts.
    fn count(folder: &Path, counts: &Counts) -> Outcome {
        let text = fs::read(log(folder)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let (mut there, mut cut, mut twice) = (HashSet::new(), 0, 0);
        for line in text.lines().filter(|line| line.contains("record <")) {
            let number = line.split_once("record <").and_then(|(_, rest)| rest.split_once("> end"));
            match number.and_then(|(number, _)| number.parse::<u64>().ok()) {
                Some(number) => twice += u64::from(!there.insert(number)),
                None => cut += 1,
            }
        }
        let (mut logged, mut lost) = (0, 0);
        for thread in 0..THREADS {
            let returned = counts.get(thread);
            logged += returned;
            let first = thread as u64 * PER_THREAD;
            lost +=
                (first..first + returned).filter(|number| !there.contains(number)).count() as u64;
        }
        Outcome { logged, lost, kills: 0, most: 0, cut, twice }
    }

    const PER_THREAD: u64 = 1_000_000_000;

    fn log(folder: &Path) -> PathBuf {
        folder.join("app.log")
    }

    fn child(role: &str, subject: &'static Subject, folder: &Path) {
        let log_path = log(folder);
        if role == NEXT && !subject.name.contains("survive") {
            return;
        }
        let opened = (subject.open)(&log_path);
        if role == NEXT {
            (opened.close)();
            return;
        }
        let counts = Counts::new(folder);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (message, counts) = (&opened.message, &counts);
                scope.spawn(move || {
                    let first = thread as u64 * PER_THREAD;
                    for at in 0.. {
                        message(&format!("record <{}> end", first + at));
                        counts.set(thread, at + 1);
                    }
                });
            }
            println!("started");
        });
    }

    /// For each thread, how many of its calls have returned.
    struct Counts(*mut AtomicU64);

    // SAFETY: the memory is mapped as long as the process lives, and accessed through atomics
    // alone.
    unsafe impl Sync for Counts {}

    impl Counts {
        fn new(folder: &Path) -> Self {
            let length = THREADS * size_of::<u64>();
            let mut options = File::options();
            let options = options.read(true).write(true).create(true).truncate(false);
            let file = options.open(folder.join("counts")).expect("a file");
            file.set_len(length as u64).expect("room");
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
            let null = core::ptr::null_mut();
            // SAFETY: the file has that length, and nothing is mapped there.
            let memory =
                unsafe { libc::mmap(null, length, access, libc::MAP_SHARED, descriptor, 0) };
            assert!(memory != libc::MAP_FAILED);
            Self(memory.cast())
        }

        fn count(&self, thread: usize) -> &AtomicU64 {
            assert!(thread < THREADS);
            // SAFETY: so many words are mapped.
            let at = unsafe { self.0.add(thread) };
            // SAFETY: the memory is aligned by pages, and stays mapped.
            unsafe { &*at }
        }

        fn set(&self, thread: usize, count: u64) {
            // ORDERING: Release: the call returned before.
            self.count(thread).store(count, Ordering::Release);
        }

        fn get(&self, thread: usize) -> u64 {
            // ORDERING: Acquire, with the Release of a process that has ended.
            self.count(thread).load(Ordering::Acquire)
        }
    }
}
