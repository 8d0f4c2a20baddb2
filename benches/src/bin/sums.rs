//! Sums and differences of instants: `cargo xtask bench sums [--quick]`.
//!
//! All clocks of a row run in turn, round after round, and the best round of each counts. Before
//! that the process reads the time every millisecond for five seconds, or for a second, so its
//! first instant is older than the line in use. A process for each source of ticks measures.
#![expect(clippy::print_stdout, reason = "hands its figures to its parent")]

use core::hint::black_box;
use core::ops::Add;
use core::time::Duration;
use std::env;
use std::process::Command;
use std::thread;
use std::time::Instant as StdInstant;

use bench_tables::{Arguments, Report, Table, column};
use tach_core::{Budget, Instant, MonotonicInstant, UnixTime};

/// The argument that makes this program measure, followed by the number of rounds.
const MEASURE: &str = "measure";
const SOURCES: [(&str, &str); 2] = [("counter", "counter"), ("OS clock", "os")];
const CALLS: u32 = 1_000;
const CLOCKS: [&str; 6] =
    ["std", "tach Instant", "tach MonotonicInstant", "quanta", "minstant", "fastant"];
const DURATIONS: [(&str, Duration); 5] = [
    ("1 us", Duration::from_micros(1)),
    ("5 ms", Duration::from_millis(5)),
    ("1 s", Duration::from_secs(1)),
    ("30 s", Duration::from_secs(30)),
    ("1 h", Duration::from_hours(1)),
];

/// An instant with the operations that all clocks share.
trait Clock: Copy + Add<Duration, Output = Self> {
    fn now() -> Self;
    /// `None` in some clocks before the process began.
    fn minus(self, duration: Duration) -> Option<Self>;
    fn since(self, earlier: Self) -> Duration;
    fn elapsed(self) -> Duration;
}

macro_rules! clock {
    ($($Instant:ty)*) => {
        $(impl Clock for $Instant {
            #[inline]
            fn now() -> Self {
                Self::now()
            }

            #[inline]
            fn minus(self, duration: Duration) -> Option<Self> {
                self.checked_sub(duration)
            }

            #[inline]
            fn since(self, earlier: Self) -> Duration {
                self.saturating_duration_since(earlier)
            }

            #[inline]
            fn elapsed(self) -> Duration {
                <$Instant>::elapsed(&self)
            }
        })*
    };
}

clock!(StdInstant Instant MonotonicInstant quanta::Instant minstant::Instant fastant::Instant);

/// The jobs of a clock, each with its name.
type Jobs = Vec<(String, Box<dyn Fn()>)>;

/// Returns a job that calls `call` with an instant that was read just before the first call.
fn job<C: Clock + 'static, T>(
    name: String,
    prepare: impl Fn(C) -> C + 'static,
    call: impl Fn(C, C) -> T + 'static,
) -> (String, Box<dyn Fn()>) {
    let run = move || {
        let now = C::now();
        let other = prepare(now);
        for _ in 0..CALLS {
            black_box(call(black_box(now), black_box(other)));
        }
    };
    (name, Box::new(run))
}

fn jobs<C: Clock + 'static>(first: C) -> Jobs {
    let second = first + Duration::from_millis(500);
    let mut jobs = vec![
        job("elapsed(), just read".to_owned(), |now: C| now, |now, _| now.elapsed()),
        job("elapsed(), old".to_owned(), move |_: C| first, |_, old| old.elapsed()),
        job("t - a, a old".to_owned(), move |_| first, move |now: C, a| now.since(a)),
        job("b - a, both old".to_owned(), move |_| second, move |_: C, b| b.since(first)),
    ];
    for (name, duration) in DURATIONS {
        let by = move || black_box(duration);
        jobs.extend([
            job(format!("now() + {name}"), |now: C| now, move |_, _| C::now() + by()),
            job(format!("t + {name}"), |now: C| now, move |now, _| now + by()),
            job(format!("t - {name}"), |now: C| now, move |now, _| now.minus(by())),
            job(format!("old t + {name}"), move |_: C| first, move |_, old| old + by()),
            job(format!("old t - {name}"), move |_: C| first, move |_, old| old.minus(by())),
            job(
                format!("now() to a deadline in {name}"),
                move |now: C| now + duration,
                |_, end| end.since(C::now()),
            ),
            job(
                format!("t to a deadline in {name}"),
                move |now: C| now + duration,
                |now, end| end.since(now),
            ),
        ]);
    }
    jobs
}

/// The name of a row, and the calls that it times.
type Job = (&'static str, Box<dyn Fn()>);

/// Returns what only tach has, beside a read of std's clock.
fn jobs_of_tach() -> [Job; 7] {
    let minute = Duration::from_mins(1);
    let old = Budget::new(minute);
    let exhausted = Budget::new(Duration::ZERO);
    let run = |call: Box<dyn Fn(Instant, StdInstant)>| -> Box<dyn Fn()> {
        Box::new(move || {
            let (now, std) = (Instant::now(), StdInstant::now());
            for _ in 0..CALLS {
                call(black_box(now), black_box(std));
            }
        })
    };
    [
        (
            "Budget::since(t, 1 min).end()",
            run(Box::new(move |now, _| _ = black_box(Budget::since(now, minute).end()))),
        ),
        (
            "Budget::end(), an old budget",
            run(Box::new(move |_, _| _ = black_box(black_box(old).end()))),
        ),
        (
            "Budget::remaining()",
            run(Box::new(move |now, _| _ = black_box(Budget::since(now, minute).remaining()))),
        ),
        (
            "Budget::remaining(), an old budget",
            run(Box::new(move |_, _| _ = black_box(black_box(old).remaining()))),
        ),
        (
            "Budget::check(), exhausted",
            run(Box::new(move |_, _| _ = black_box(black_box(&exhausted).check()))),
        ),
        ("to std's", run(Box::new(|now, _| _ = black_box(StdInstant::from(now))))),
        ("from std's", run(Box::new(|_, std| _ = black_box(Instant::from(std))))),
    ]
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [MEASURE, rounds] = *arguments.iter().map(String::as_str).collect::<Vec<_>>() {
        measure(rounds.parse().expect("a number"));
        return;
    }
    let rounds = if Arguments::read(&[]).quick { 30 } else { 400 };
    let program = env::current_exe().expect("this program has a path");
    let mut report = Report::new();
    for (name, source) in SOURCES {
        let mut command = Command::new(&program);
        command.args([MEASURE, &rounds.to_string()]).env("TACH_SOURCE", source);
        let output = command.output().expect("it starts again");
        let mut columns = CLOCKS.map(|clock| column(clock, "ns", 1)).to_vec();
        columns.extend([column("Instant of std's", "", 2), column("of std's now()", "", 2)]);
        let mut table = Table::new(&format!("sums, ticks from the {name}"), columns);
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let (row, ns) = line.split_once('|').expect("a name and figures");
            let ns = ns.split(' ').map(|ns| ns.parse::<f64>().ok()).collect::<Vec<_>>();
            let (tach, std_now) = (ns[1], ns[CLOCKS.len()]);
            let ratio = |of: Option<f64>| Some(tach? / of?);
            let ratios = [ratio(ns[0]), ratio(std_now)];
            let cells = ns[..CLOCKS.len()].iter().chain(&ratios);
            table.row(row, cells.map(|cell| cell.iter().copied().collect()).collect::<Vec<_>>());
        }
        report.table(table);
    }
    report.end();
}

/// Prints a line for each row: its name, the nanoseconds of each clock, and those of std's `now()`.
fn measure(rounds: u32) {
    let std_first = StdInstant::now();
    let clocks = [
        jobs(std_first),
        jobs(Instant::now()),
        jobs(MonotonicInstant::now()),
        jobs(quanta::Instant::now()),
        jobs(minstant::Instant::now()),
        jobs(fastant::Instant::now()),
    ];
    let of_tach = jobs_of_tach();
    while std_first.elapsed() < Duration::from_secs(if rounds < 100 { 1 } else { 5 }) {
        thread::sleep(Duration::from_millis(1));
        black_box((Instant::now().elapsed(), UnixTime::now()));
    }
    let std_now: Box<dyn Fn()> = Box::new(|| {
        for _ in 0..CALLS {
            black_box(StdInstant::now());
        }
    });
    for (row, (name, _)) in clocks[0].iter().enumerate() {
        let runs = clocks.iter().map(|jobs| &*jobs[row].1).chain([&*std_now]);
        let ns = least_ns(&runs.collect::<Vec<_>>(), rounds);
        println!("{name}|{}", ns.iter().map(f64::to_string).collect::<Vec<_>>().join(" "));
    }
    for (name, run) in &of_tach {
        let ns = least_ns(&[&**run, &*std_now], rounds);
        println!("{name}|- {} - - - - {}", ns[0], ns[1]);
    }
}

/// Returns the best of all rounds of each job in ns a call, the jobs in turn.
fn least_ns(jobs: &[&dyn Fn()], rounds: u32) -> Vec<f64> {
    let mut least = vec![Duration::MAX; jobs.len()];
    for _ in 0..rounds {
        for (least, job) in least.iter_mut().zip(jobs) {
            let start = StdInstant::now();
            job();
            *least = start.elapsed().min(*least);
        }
    }
    least.iter().map(|least| least.as_secs_f64() * 1e9 / f64::from(CALLS)).collect()
}
