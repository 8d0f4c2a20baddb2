//! The cost of an instant of some age: `cargo xtask bench ages [--quick]`, which takes eleven
//! minutes, or a minute.
//!
//! Two processes run at the same time. One converts an instant every millisecond, so its timeline
//! has a record for every four seconds. The other sleeps, so its timeline has few records.
//!
//! A pool has a thousand instants with random ages up to the named one, in random order: no branch
//! on the age can be predicted.
#![expect(clippy::print_stdout, reason = "hands its figures to its parent")]
#![expect(clippy::cast_precision_loss, reason = "ages and counts that an f64 holds")]
#![expect(clippy::large_stack_arrays, reason = "nothing is allocated while it measures")]
#![expect(clippy::unchecked_time_subtraction, reason = "the machine is older than its instants")]

use core::hint::black_box;
use core::time::Duration;
use std::env;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant as StdInstant;

use bench_tables::{Arguments, Report, Table, column};
use tach_core::{Instant, MonotonicInstant, UnixTime};

/// The argument that makes this program measure, followed by `converts` or `sleeps` and the ages in
/// seconds.
const MEASURE: &str = "measure";
const CONVERTS: &str = "converts";
const PROCESSES: [(&str, &str); 2] = [("converts every ms", CONVERTS), ("sleeps", "sleeps")];
const AGES_S: [u64; 5] = [1, 2, 30, 60, 600];
const ROUNDS: u32 = 400;
const CALLS: usize = 1_000;

/// A call of two instants of the same clock, the older one first.
type Call = fn(&Clocks, &Clocks);

/// The measured calls; std's own is the first.
const COLUMNS: [(&str, Call); 11] = [
    ("std elapsed()", |old, _| _ = black_box(old.std.elapsed())),
    ("elapsed()", |old, _| _ = black_box(old.bare.elapsed())),
    ("monotonic elapsed()", |old, _| _ = black_box(old.monotonic.elapsed())),
    ("unix_time()", |old, _| _ = black_box(old.bare.unix_time())),
    ("duration_since()", |old, young| _ = black_box(young.bare.duration_since(old.bare))),
    ("t + 5 ms", |old, _| _ = black_box(old.bare + FIVE_MS)),
    ("std duration_since()", |old, young| _ = black_box(young.std.duration_since(old.std))),
    ("std t + 5 ms", |old, _| _ = black_box(old.std + FIVE_MS)),
    ("quanta elapsed()", |old, _| _ = black_box(old.quanta.elapsed())),
    ("minstant elapsed()", |old, _| _ = black_box(old.minstant.elapsed())),
    ("fastant elapsed()", |old, _| _ = black_box(old.fastant.elapsed())),
];
const FIVE_MS: Duration = Duration::from_millis(5);

/// One point in time by all clocks.
#[derive(Clone, Copy)]
struct Clocks {
    bare: Instant,
    monotonic: MonotonicInstant,
    std: StdInstant,
    quanta: quanta::Instant,
    minstant: minstant::Instant,
    fastant: fastant::Instant,
}

impl Clocks {
    fn ago(age: Duration) -> Self {
        Self {
            bare: Instant::now() - age,
            monotonic: MonotonicInstant::now() - age,
            std: StdInstant::now() - age,
            quanta: quanta::Instant::now() - age,
            minstant: minstant::Instant::now() - age,
            fastant: fastant::Instant::now() - age,
        }
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let [MEASURE, way, ages @ ..] = &words[..] {
        let ages: Vec<u64> = ages.iter().map(|age| age.parse().expect("a number")).collect();
        measure_ages(*way == CONVERTS, &ages);
        return;
    }
    let most_s = if Arguments::read(&[]).quick { 60 } else { 600 };
    let ages_s: Vec<String> =
        AGES_S.iter().filter(|&&age| age <= most_s).map(u64::to_string).collect();
    let program = env::current_exe().expect("this program has a path");
    let children = PROCESSES.map(|(name, way)| {
        let mut command = Command::new(&program);
        command.args([MEASURE, way]).args(&ages_s).stdout(Stdio::piped());
        (name, command.spawn().expect("it starts again"))
    });
    let mut report = Report::new();
    for (name, child) in children {
        let output = child.wait_with_output().expect("a child can be waited for");
        let text = String::from_utf8_lossy(&output.stdout);
        let columns = COLUMNS.map(|(name, _)| column(name, "ns", 1));
        let ratio = column("elapsed() of std's", "", 2);
        let mut table = Table::new(
            &format!("a process that {name}"),
            columns.into_iter().chain([ratio]).collect::<Vec<_>>(),
        );
        let rows =
            ages_s.iter().flat_map(|age| [format!("{age} s ago"), format!("up to {age} s ago")]);
        for (row, line) in rows.zip(text.lines()) {
            let ns: Vec<f64> = line.split(' ').map(|ns| ns.parse().expect("a number")).collect();
            let ratio = ns[1] / ns[0];
            let cells = ns.into_iter().chain([ratio]).map(|figure| vec![figure]);
            table.row(&row, cells.collect::<Vec<_>>());
        }
        report.table(table);
    }
    report.end();
}

/// Prints two lines for each age, once it is reached: for one instant, and for a pool.
fn measure_ages(converts: bool, ages_s: &[u64]) {
    let (first, start) = (Clocks::ago(Duration::ZERO), StdInstant::now());
    for &age_s in ages_s {
        let age = Duration::from_secs(age_s);
        while converts && start.elapsed() < age {
            thread::sleep(Duration::from_millis(1));
            black_box((Instant::now().elapsed(), UnixTime::now()));
        }
        thread::sleep(age.saturating_sub(start.elapsed()));
        let alone = [(first, Clocks::ago(age / 2)); CALLS];
        let mut random = 1_u64;
        let mut random_age = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            age.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64)
        };
        let pool = [(); CALLS].map(|()| {
            let ages = [random_age(), random_age()];
            let (old, young) = (ages[0].max(ages[1]), ages[0].min(ages[1]));
            (Clocks::ago(old), Clocks::ago(young))
        });
        for instants in [&alone, &pool] {
            println!("{}", least_ns(instants).map(|ns| ns.to_string()).join(" "));
        }
    }
}

/// Returns the best of all rounds, the calls in turn.
fn least_ns(instants: &[(Clocks, Clocks); CALLS]) -> [f64; COLUMNS.len()] {
    let mut least = [Duration::MAX; COLUMNS.len()];
    for _ in 0..ROUNDS {
        for (least, (_, call)) in least.iter_mut().zip(COLUMNS) {
            let start = StdInstant::now();
            for (old, young) in instants {
                call(old, young);
            }
            *least = start.elapsed().min(*least);
        }
    }
    least.map(|least| least.as_secs_f64() * 1e9 / CALLS as f64)
}
