//! What writers of rotated files lose when a step fails, the process is killed, the disk is full,
//! or two processes write one path.
//!
//! A child writes numbered lines, each by one `write_all` without a flush, as tracing-subscriber's
//! `fmt` does. Afterwards its parent counts the lines in all files of the folder.
//!
//! ```sh
//! cargo xtask bench losses [--quick] [SUBJECT...]
//! ```

#![cfg_attr(unix, expect(unsafe_code, reason = "limits the size of files"))]
#![expect(clippy::print_stdout, reason = "tells the parent how far a child has come")]

#[cfg(unix)]
fn main() {
    unix::main();
}

#[cfg(not(unix))]
fn main() {
    eprintln!("NOT RUN: the folder's mode and the limit of a file's size are those of Unix");
}

#[cfg(unix)]
mod unix {
    use core::time::Duration;
    use std::collections::HashSet;
    use std::fs::{self, File, Permissions};
    use std::io::{self, BufRead as _, BufReader, Write};
    use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};
    use std::time::SystemTime;
    use std::{env, process, thread};

    use bench_tables::{Arguments, Report, Table, column};
    use file_rotate::suffix::AppendCount;
    use file_rotate::{ContentLimit, FileRotate, compression::Compression};
    use rolling_file::{BasicRollingFileAppender, RollingConditionBasic};
    use tracing_appender::rolling::{RollingFileAppender, Rotation};

    /// The size at which files are rotated: some 650 lines.
    const SIZE: u64 = 64 * 1024;
    const LINE: usize = 100;
    const PHASE: u64 = 5_000;
    const PROCESSES: usize = 2;
    const KILLS: u64 = 100;
    /// The user without rights, if root runs this.
    const NOBODY: u32 = 65_534;

    struct Subject {
        name: &'static str,
        open: fn(&Path, Rotates) -> Box<dyn Write>,
        /// Whether files are rotated by the minute alone.
        by_time: bool,
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Rotates {
        Yes,
        No,
    }

    const SUBJECTS: [Subject; 4] = [
        Subject {
            name: "tach-sinks",
            open: |path, rotates| {
                let size = if rotates == Rotates::Yes { SIZE } else { u64::MAX };
                let rotation = tach_sinks::Rotation::new().max_bytes(size);
                Box::new(tach_sinks::File::new(path).rotate(rotation).open().expect("a file"))
            },
            by_time: false,
        },
        Subject {
            name: "tracing-appender",
            open: |path, rotates| {
                let rotation =
                    if rotates == Rotates::Yes { Rotation::MINUTELY } else { Rotation::NEVER };
                let (folder, name) = (path.parent().expect("a folder"), path.file_name());
                Box::new(RollingFileAppender::new(rotation, folder, name.expect("a name")))
            },
            by_time: true,
        },
        Subject {
            name: "file-rotate",
            open: |path, rotates| {
                let limit = match rotates {
                    Rotates::Yes => {
                        ContentLimit::BytesSurpassed(usize::try_from(SIZE).expect("a size"))
                    }
                    Rotates::No => ContentLimit::None,
                };
                let (suffix, none) = (AppendCount::new(1_000), Compression::None);
                Box::new(FileRotate::new(path, suffix, limit, none, None))
            },
            by_time: false,
        },
        Subject {
            name: "rolling-file",
            open: |path, rotates| {
                let size = if rotates == Rotates::Yes { SIZE } else { u64::MAX };
                let condition = RollingConditionBasic::new().max_size(size);
                let writer = BasicRollingFileAppender::new(path, condition, 1_000);
                Box::new(writer.expect("a file"))
            },
            by_time: false,
        },
    ];

    pub(super) fn main() {
        let arguments: Vec<String> = env::args().skip(1).collect();
        if let [role, name, number, path] = &arguments[..] {
            let subject = SUBJECTS.iter().find(|subject| subject.name == name);
            let number = number.parse().expect("a number");
            return child(role, subject.expect("a subject"), number, Path::new(path));
        }
        let names: Vec<_> = SUBJECTS.iter().map(|subject| subject.name).collect();
        let arguments = Arguments::read(&names);
        let kills = if arguments.quick { 5 } else { KILLS };
        let mut table = Table::new(
            "lost / cut / twice",
            [
                column(&format!("no rights in the folder for a while, of {}", 3 * PHASE), "", 0),
                column(&format!("full for a while, of {}", 3 * PHASE), "", 0),
                column(&format!("killed {kills} times"), "", 0),
                column(&format!("two processes, of {}", PROCESSES as u64 * PHASE), "", 0),
            ],
        );
        for subject in SUBJECTS.iter().filter(|subject| arguments.wants(subject.name)) {
            let mut killed = Outcome::default();
            (0..kills).for_each(|seed| killed.add(&kill(subject, seed)));
            let outcomes = [refused(subject), full(subject), killed, together(subject)];
            #[expect(clippy::cast_precision_loss, reason = "figures for a table")]
            let cells = outcomes.map(|it| [it.lost, it.cut, it.twice].map(|it| it as f64).to_vec());
            table.row(subject.name, cells);
        }
        let mut report = Report::new();
        report.table(table);
        report.end();
    }

    #[derive(Debug, Default)]
    struct Outcome {
        lost: u64,
        cut: u64,
        twice: u64,
    }

    impl Outcome {
        fn add(&mut self, one: &Self) {
            self.lost += one.lost;
            self.cut += one.cut;
            self.twice += one.twice;
        }
    }

    /// A folder for the log and its old files, and a file for the count of the lines.
    struct Place(PathBuf);

    impl Place {
        fn new() -> Self {
            let place = env::temp_dir().join(format!("tach-losses-{}", process::id()));
            let _left_behind = fs::remove_dir_all(&place);
            fs::create_dir_all(place.join("logs")).expect("a folder");
            Self(place)
        }

        fn folder(&self) -> PathBuf {
            self.0.join("logs")
        }

        fn counted(&self) -> PathBuf {
            self.0.join("counted")
        }

        fn allow(&self, mode: u32) {
            fs::set_permissions(self.folder(), Permissions::from_mode(mode)).expect("a mode");
        }

        fn start(&self, role: &str, subject: &Subject, number: u64) -> Child {
            let mut command = Command::new(env::current_exe().expect("this program"));
            command
                .args([role, subject.name, &number.to_string()])
                .arg(self.folder().join("app.log"));
            // SAFETY: the call only reads.
            if role == "refused" && unsafe { libc::geteuid() } == 0 {
                command.uid(NOBODY).gid(NOBODY);
            }
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts again")
        }

        /// Counts the lines of processes that have each logged so many.
        fn outcome(&self, logged: &[u64]) -> Outcome {
            let (mut there, mut outcome) = (HashSet::new(), Outcome::default());
            for entry in fs::read_dir(self.folder()).expect("the folder") {
                let bytes = fs::read(entry.expect("an entry").path()).unwrap_or_default();
                for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                    match read(line) {
                        Some(number) => outcome.twice += u64::from(!there.insert(number)),
                        None => outcome.cut += 1,
                    }
                }
            }
            let all = logged
                .iter()
                .zip(0..)
                .flat_map(|(&logged, process)| (0..logged).map(move |number| (process, number)));
            outcome.lost = all.filter(|number| !there.contains(number)).count() as u64;
            outcome
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            self.allow(0o755);
            fs::remove_dir_all(&self.0).expect("the folder");
        }
    }

    fn line(process: u64, number: u64) -> String {
        let text = format!("{process} {number} ");
        format!("{text:.<0$}\n", LINE - 1)
    }

    fn read(line: &[u8]) -> Option<(u64, u64)> {
        let text = core::str::from_utf8(line).ok().filter(|line| line.len() == LINE)?;
        let mut parts = text.split(' ');
        let mut next = || parts.next()?.parse().ok();
        let number = (next()?, next()?);
        (self::line(number.0, number.1) == text).then_some(number)
    }

    /// Answers a child that waits, each time after `act`.
    fn answer(child: &mut Child, mut act: impl FnMut(&str)) {
        let mut stdin = child.stdin.take().expect("its input");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        for line in lines.map_while(Result::ok) {
            act(&line);
            let _ended = stdin.write_all(b"\n");
        }
        let _of_a_panic = child.wait();
    }

    fn refused(subject: &Subject) -> Outcome {
        let place = Place::new();
        place.allow(0o777);
        let mut child = place.start("refused", subject, 0);
        answer(&mut child, |step| place.allow(if step == "refuse" { 0o555 } else { 0o777 }));
        place.outcome(&[3 * PHASE])
    }

    fn full(subject: &Subject) -> Outcome {
        let place = Place::new();
        answer(&mut place.start("full", subject, 0), |_| {});
        place.outcome(&[3 * PHASE])
    }

    fn kill(subject: &Subject, seed: u64) -> Outcome {
        let place = Place::new();
        let mut child = place.start("killed", subject, 0);
        BufReader::new(child.stdout.take().expect("its output"))
            .read_line(&mut String::new())
            .expect("a line");
        // From 5 to 55 ms, by a multiplier that spreads the seeds.
        let micros = 5_000 + seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 50_000;
        thread::sleep(Duration::from_micros(micros));
        child.kill().expect("a kill");
        child.wait().expect("its end");
        let counted = fs::read(place.counted()).expect("the count");
        place.outcome(&[u64::from_ne_bytes(counted.try_into().expect("a number"))])
    }

    fn together(subject: &Subject) -> Outcome {
        let place = Place::new();
        let start = |number| place.start("together", subject, number);
        let mut children: Vec<_> = (0..PROCESSES as u64).map(start).collect();
        thread::scope(|scope| {
            for child in &mut children {
                scope.spawn(|| answer(child, |_| {}));
            }
        });
        place.outcome(&[PHASE; PROCESSES])
    }

    fn child(role: &str, subject: &Subject, process: u64, path: &Path) {
        let rotates = match role {
            "full" => Rotates::No,
            // By the minute it would hardly be killed within a rotation.
            "killed" | "together" if subject.by_time => Rotates::No,
            _ => Rotates::Yes,
        };
        let mut writer = (subject.open)(path, rotates);
        let mut write = |number| {
            // As tracing-subscriber's `fmt` does with an error.
            let _ignored = writer.write_all(line(process, number).as_bytes());
        };
        let phase = |phase: u64| phase * PHASE..(phase + 1) * PHASE;
        match role {
            "killed" => {
                let counted =
                    path.parent().and_then(Path::parent).expect("a place").join("counted");
                let counted = File::create(counted).expect("a file");
                for number in 0_u64.. {
                    write(number);
                    counted.write_at(&(number + 1).to_ne_bytes(), 0).expect("a count");
                    if number == 0 {
                        println!("started");
                    }
                }
            }
            "together" => phase(0).for_each(write),
            "refused" => {
                phase(0).for_each(&mut write);
                wait("refuse");
                next_minute(subject.by_time);
                phase(1).for_each(&mut write);
                wait("allow");
                next_minute(subject.by_time);
                phase(2).for_each(write);
            }
            _ => {
                phase(0).for_each(&mut write);
                // Half of the next lines have room, and half of one.
                limit(PHASE * LINE as u64 * 3 / 2 + LINE as u64 / 2);
                phase(1).for_each(&mut write);
                limit(libc::RLIM_INFINITY);
                phase(2).for_each(write);
            }
        }
    }

    /// Waits until the parent has taken a step.
    fn wait(step: &str) {
        println!("{step}");
        io::stdin().read_line(&mut String::new()).expect("an answer");
    }

    /// Waits until a file that is rotated by the minute is to be rotated.
    fn next_minute(by_time: bool) {
        if by_time {
            let now = SystemTime::UNIX_EPOCH.elapsed().expect("a time").as_secs();
            thread::sleep(Duration::from_secs(61 - now % 60));
        }
    }

    /// Limits the size of the files that this process writes.
    fn limit(bytes: libc::rlim_t) {
        // SAFETY: ignoring a signal takes no handler.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: the limit is memory of this function.
        let set = unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) };
        assert_eq!(set, 0, "the limit can be set");
    }
}
