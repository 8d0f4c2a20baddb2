//! The boot-time instant: it counts suspends, never goes back, and follows no other clock.

use core::time::Duration;

use tach_core::BootInstant;

use super::Scenario;
use crate::linux::child::settle;
use crate::linux::machine::{self, BOOTTIME, COUNTER, HOUR, MONOTONIC, REALTIME, SECOND};
use crate::linux::report::Report;

/// The time within which an event is found: 50 ms of use, and the next read.
const FOUND: Duration = Duration::from_millis(51);
const LOOK_NS: u64 = 100_000_000;
/// The allowed error before the event, and some seconds after it.
const CALM_NS: u64 = 1_000;
/// The allowed error as soon as the event is found.
const BAR_NS: u64 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// A suspend of an hour, during which the counter runs.
    Suspend,
    /// A suspend of an hour, during which the counter stands.
    SuspendWithCounter,
    /// A suspend of an hour, after which the counter starts again at zero.
    SuspendWithReset,
    /// The boot-time clock goes back by 1,000 s.
    ClockBack,
    CounterBack,
    /// The wall clock is set, which must not affect this clock.
    WallStep,
    Slew,
}

impl Event {
    const ALL: [Self; 7] = [
        Self::Suspend,
        Self::SuspendWithCounter,
        Self::SuspendWithReset,
        Self::ClockBack,
        Self::CounterBack,
        Self::WallStep,
        Self::Slew,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Suspend => "suspend",
            Self::SuspendWithCounter => "suspend/counter-stands",
            Self::SuspendWithReset => "suspend/counter-reset",
            Self::ClockBack => "clock-back",
            Self::CounterBack => "counter-back",
            Self::WallStep => "wall-step",
            Self::Slew => "slew",
        }
    }

    fn happen(self) {
        match self {
            Self::Suspend => machine::suspend(HOUR),
            Self::SuspendWithCounter => machine::suspend_with_counter(HOUR),
            Self::SuspendWithReset => {
                machine::suspend(HOUR);
                COUNTER.set(0);
            }
            Self::ClockBack => machine::jump_monotonic(-1_000),
            Self::CounterBack => COUNTER.shift(-9_000_000_000_000),
            Self::WallStep => REALTIME.shift(3_600_000_000_000),
            Self::Slew => machine::slew(500),
        }
    }

    /// Returns how much of the boot-time clock's change the clock under test leaves out.
    fn kept_ns(self) -> u64 {
        if self == Self::ClockBack { 1_000_000_000_000 } else { 0 }
    }

    /// Returns a clock that this event disturbs.
    fn victim(self) -> Read {
        match self {
            Self::Suspend | Self::SuspendWithCounter | Self::SuspendWithReset => {
                || machine::read_os(&MONOTONIC)
            }
            Self::ClockBack => || machine::read_os(&BOOTTIME),
            Self::CounterBack | Self::Slew => || machine::read_counter() * 2 / 5,
            Self::WallStep => || machine::read_os(&REALTIME),
        }
    }
}

/// Returns a clock's time in ns.
type Read = fn() -> u64;

pub(crate) fn scenarios() -> Vec<Scenario> {
    let scenario = |event: Event| {
        Scenario::new(
            format!("boot/{}", event.name()),
            move |report| watch(boot_ns, event, report),
            move |report| watch(event.victim(), event, report),
        )
    };
    let often = [Event::Suspend, Event::SuspendWithCounter].map(|event| {
        Scenario::new(
            format!("boot/{}/again-and-again", event.name()),
            move |report| again_and_again(boot_ns, event, report),
            move |report| again_and_again(event.victim(), event, report),
        )
    });
    Event::ALL.map(scenario).into_iter().chain(often).collect()
}

/// Returns the time since the first instant: the type shows only distances.
fn boot_ns() -> u64 {
    use std::sync::OnceLock;

    static ORIGIN: OnceLock<BootInstant> = OnceLock::new();
    let now = BootInstant::now().expect("the machine has the clock");
    machine::ns(now.duration_since(*ORIGIN.get_or_init(|| now)))
}

/// A process that reads one clock and compares it with the boot-time clock.
struct Watch {
    read: Read,
    /// The clock at the start, and the boot-time clock before it was read.
    start: [u64; 2],
    last_ns: u64,
    backwards: u64,
}

impl Watch {
    fn begin(read: Read) -> Self {
        let boot_ns = BOOTTIME.value();
        let start_ns = read();
        Self { read, start: [start_ns, boot_ns], last_ns: start_ns, backwards: 0 }
    }

    /// Reads for `duration`, and returns the largest error. The boot-time clock has lost `lost_ns`.
    fn busy(&mut self, duration: Duration, lost_ns: u64) -> u64 {
        let end_ns = machine::true_ns() + machine::ns(duration);
        let mut worst_ns = 0;
        while machine::true_ns() < end_ns {
            let boot_ns = || BOOTTIME.value() + lost_ns - self.start[1];
            let before_ns = boot_ns();
            let now_ns = (self.read)();
            let after_ns = boot_ns();
            self.backwards += u64::from(now_ns < self.last_ns);
            self.last_ns = now_ns;
            let passed_ns = now_ns.wrapping_sub(self.start[0]);
            // The start was read some ns after the boot-time clock.
            let early_ns = before_ns.saturating_sub(passed_ns.saturating_add(CALM_NS));
            worst_ns = worst_ns.max(early_ns.max(passed_ns.saturating_sub(after_ns)));
            machine::pass(Duration::from_nanos(50_000 + machine::random(950_000)));
        }
        worst_ns
    }
}

fn watch(read: Read, event: Event, report: &mut Report) {
    settle();
    let mut watch = Watch::begin(read);
    // Let the rate that the first samples showed be refined.
    watch.busy(20 * SECOND, 0);
    report.at_most_ns("off before", watch.busy(5 * SECOND, 0), CALM_NS);
    event.happen();
    let lost_ns = event.kept_ns();
    watch.busy(FOUND, lost_ns);
    // A clock that went back shows nothing about the time since the last look.
    let lost_bar_ns = if event == Event::ClockBack { LOOK_NS } else { 0 };
    let found_ns = watch.busy(SECOND, lost_ns);
    report.at_most_ns("off once found", found_ns, BAR_NS + lost_bar_ns);
    watch.busy(5 * SECOND, lost_ns);
    let later_ns = watch.busy(5 * SECOND, lost_ns);
    report.at_most_ns("off after six seconds", later_ns, CALM_NS + lost_bar_ns);
    report.at_most("steps back", watch.backwards, 0);
}

/// Suspends the machine a hundred times.
fn again_and_again(read: Read, suspend: Event, report: &mut Report) {
    settle();
    let mut watch = Watch::begin(read);
    let mut worst_ns = 0;
    for _ in 0..100 {
        suspend.happen();
        watch.busy(FOUND, 0);
        worst_ns = worst_ns.max(watch.busy(SECOND / 5, 0));
    }
    report.at_most_ns("off once found", worst_ns, BAR_NS);
    report.at_most("steps back", watch.backwards, 0);
}
