//! The parent: runs each scenario and its control in a child.

use core::num::NonZero;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::env;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;

use test_support::{this_program, wait_for};

use super::child;
use super::machine;
use super::mode::{BEFORE, MODES, Mode, UNKNOWN};
use super::report::Report;
use super::scenarios::{self, End, Scenario, Setting};

const CHILD: &str = "child";
const SCENARIO: &str = "scenario";
const CONTROL: &str = "control";
const PROBE: &str = "probe";
/// The longest run of a child. Most take a few seconds.
const DEADLINE: Duration = Duration::from_secs(60);

struct Ended {
    status: Option<ExitStatus>,
    said: String,
}

pub(crate) fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [CHILD, part, name] =
        arguments.iter().map(|argument| &**argument).collect::<Vec<_>>()[..]
    {
        run(part, name);
    }
    if let Some(obstacle) = obstacle() {
        assert!(env::var_os("TACH_TESTS").is_none(), "the scenarios can't run here: {obstacle}");
        eprintln!("0 passed, all NOT RUN: {obstacle}");
        return;
    }
    let wanted = |name: &str| {
        let mut filters = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
        filters.peek().is_none() || filters.any(|filter| name.contains(&**filter))
    };
    let most = most_modes();
    let in_modes = |(number, scenario): (usize, Scenario)| {
        let mut modes: Vec<_> = MODES.into_iter().filter(|&mode| scenario.holds_in(mode)).collect();
        // If not all modes run, each scenario begins with a different one.
        let first = number % modes.len();
        modes.rotate_left(first);
        modes.into_iter().take(most).map(|mode| (scenario.name.clone(), mode)).collect::<Vec<_>>()
    };
    let runs: Vec<(String, Mode)> = scenarios::all()
        .into_iter()
        .enumerate()
        .flat_map(in_modes)
        .filter(|(name, mode)| wanted(&mode.named(name)))
        .collect();
    let runs = Mutex::new(runs.into_iter());
    let (passed, failed) = (AtomicU32::new(0), AtomicU32::new(0));
    let work = || {
        let all = scenarios::all();
        loop {
            let Some((name, mode)) = runs.lock().expect("no thread panics").next() else { return };
            let scenario = all.iter().find(|scenario| scenario.name == name);
            let result = check(scenario.expect("a scenario's name"), mode);
            let (count, word, text) = match &result {
                Ok(text) => (&passed, "ok  ", text),
                Err(text) => (&failed, "FAIL", text),
            };
            // ORDERING: Relaxed, since the scope's end publishes the counts.
            count.fetch_add(1, Ordering::Relaxed);
            eprintln!("{word} {}: {text}", mode.named(&name));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let (passed, failed) = (passed.into_inner(), failed.into_inner());
    eprintln!("{passed} passed, {failed} failed");
    if failed > 0 {
        process::exit(1);
    }
}

/// Returns in how many modes each scenario runs: in all, or in as many as `TACH_MODES` says.
fn most_modes() -> usize {
    let Ok(number) = env::var("TACH_MODES") else { return MODES.len() };
    number.parse().expect("TACH_MODES must be a number")
}

/// Returns the reason why the scenarios can't run here.
fn obstacle() -> Option<String> {
    let probe = start_with(PROBE, PROBE, core::iter::empty());
    let ran = probe.status.is_some_and(|status| status.success());
    (!ran).then(|| format!("no machine can be simulated: {}", probe.said))
}

/// Runs a scenario, which must pass, and its control, which must fail. (The control does not use
/// tach, so it is the same in all modes, and runs in one.)
fn check(scenario: &Scenario, mode: Mode) -> Result<String, String> {
    let ended = start(SCENARIO, scenario, mode);
    if mode != Mode::Ordered {
        return if ended.is(End::Passed) { Ok(ended.said) } else { Err(ended.to_string()) };
    }
    let control = start(CONTROL, scenario, mode);
    if !control.is(scenario.control_end) {
        let expected = scenario.control_end;
        return Err(format!("ITS CONTROL did not end by {expected:?}: {control}"));
    }
    if ended.is(End::Passed) { Ok(ended.said) } else { Err(ended.to_string()) }
}

impl Ended {
    fn is(&self, end: End) -> bool {
        self.status.is_some_and(|status| match end {
            End::Passed => status.code() == Some(child::PASSED),
            End::Violated => status.code() == Some(child::VIOLATED),
            End::Hung => status.code() == Some(child::HUNG),
            End::Killed(signal) => status.signal() == Some(signal),
        })
    }
}

impl core::fmt::Display for Ended {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.status {
            Some(status) if status.code() == Some(child::VIOLATED) => f.write_str(&self.said),
            Some(status) => write!(f, "{status}: {}", self.said),
            None => write!(f, "killed after {DEADLINE:?}: {}", self.said),
        }
    }
}

/// Runs a part of a scenario in another process.
fn start(part: &str, scenario: &Scenario, mode: Mode) -> Ended {
    let source = scenario.source.map(|source| ("TACH_SOURCE", source));
    start_with(part, &scenario.name, source.into_iter().chain(mode.variable()))
}

/// Runs this program again. A child that hangs is killed.
fn start_with(
    part: &str,
    name: &str,
    variables: impl Iterator<Item = (&'static str, &'static str)>,
) -> Ended {
    let mut command = this_program();
    command.args([CHILD, part, name]).stderr(Stdio::piped());
    command.env_remove("TACH_ORDER").env_remove("TACH_SOURCE").env_remove(BEFORE).envs(variables);
    let mut child = command.spawn().expect("this program starts again");
    let status = wait_for(&mut child, DEADLINE);
    let mut said = Vec::new();
    let mut pipe = child.stderr.take().expect("the pipe was asked for");
    // A child's output fits into a pipe, so the child did not wait for a reader.
    pipe.read_to_end(&mut said).expect("a pipe can be read");
    Ended { status, said: String::from_utf8_lossy(&said).trim().replace('\n', " | ") }
}

/// Runs the child's side.
fn run(part: &str, name: &str) -> ! {
    let mut report = Report::default();
    if part == PROBE {
        child::simulate();
        child::probe();
        child::end(&report);
    }
    let all = scenarios::all();
    let scenario = all.iter().find(|scenario| scenario.name == name).expect("a scenario's name");
    if let (SCENARIO, Some(config)) = (part, scenario.config) {
        config.install().expect("the clock was not read");
    }
    let before = env::var(BEFORE).unwrap_or_default();
    if scenario.setting == Setting::Simulated {
        child::simulate();
        if before == UNKNOWN {
            machine::hide_clocksource();
        }
        let falls = before.parse().unwrap_or(0);
        child::let_counter_fall(falls);
    }
    let body = if part == CONTROL { &scenario.control } else { &scenario.body };
    body(&mut report);
    child::end(&report)
}
