//! A busy process that compares a clock with the simulated OS clocks at every read.

use core::time::Duration;
use std::time::Instant as StdInstant;

use tach_core::{BoundedTime, UnixTime};

use super::machine;
use super::report::{Readable, Report};
use super::subject::{Claims, Subject};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    /// The Unix time and the time elapsed, but no bound: the look of a bound must not help.
    Plain,
    Unix,
    Elapsed,
    /// Both times, the bounds and the status, in a varying order.
    Bounds,
}

impl Reads {
    pub(crate) const BOTH: [Self; 2] = [Self::Plain, Self::Bounds];
    pub(crate) const ALL: [Self; 4] = [Self::Plain, Self::Unix, Self::Elapsed, Self::Bounds];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Unix => "unix",
            Self::Elapsed => "elapsed",
            Self::Bounds => "bounds",
        }
    }
}

pub(crate) struct Watch<S> {
    pub(crate) subject: S,
    reads: Reads,
    /// [`machine::lived_ns`] before and after the start was read.
    start_ns: [u64; 2],
    /// The last bound, with the OS clock's time before and after.
    last: Option<(BoundedTime, [u64; 2])>,
}

/// The largest errors in a period.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Without the time that passed within a read.
    pub(crate) unix_ns: u64,
    pub(crate) elapsed_ns: u64,
    pub(crate) widest_ns: u64,
    claims: [Broken; 4],
}

/// The number of wrong claims, and the largest error.
#[derive(Debug, Default, Clone, Copy)]
struct Broken {
    reads: u64,
    times: u64,
    worst_ns: u64,
}

impl Broken {
    fn record(&mut self, excess_ns: u64) {
        self.merge(Self { reads: 1, times: u64::from(excess_ns > 0), worst_ns: excess_ns });
    }

    fn merge(&mut self, other: Self) {
        self.reads += other.reads;
        self.times += other.times;
        self.worst_ns = self.worst_ns.max(other.worst_ns);
    }
}

const CLAIMS: [&str; 4] = ["bound", "order of bounds", "status of real time", "monotonic status"];

impl Figures {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.unix_ns = self.unix_ns.max(other.unix_ns);
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.widest_ns = self.widest_ns.max(other.widest_ns);
        for (broken, &more) in self.claims.iter_mut().zip(&other.claims) {
            broken.merge(more);
        }
    }

    /// Reports the claims that were wrong.
    pub(crate) fn check_claims(&self, phase: &str, report: &mut Report) {
        for (name, Broken { reads, times, worst_ns }) in CLAIMS.into_iter().zip(self.claims) {
            if times > 0 {
                let excess = Readable(worst_ns);
                let finding =
                    format!("{name} wrong {phase}: {times} of {reads}, by up to {excess}");
                report.holds(false, finding);
            }
        }
        if self.widest_ns > 0 {
            report.figure(format!("bound {phase} up to {}", Readable(self.widest_ns)));
        }
    }
}

impl<S: Subject> Watch<S> {
    pub(crate) fn begin(reads: Reads) -> Self {
        let before_ns = machine::lived_ns();
        let subject = S::begin();
        Self { subject, reads, start_ns: [before_ns, machine::lived_ns()], last: None }
    }

    /// Lets `duration` pass, with a read at the start and then every 50 us to 1 ms.
    pub(crate) fn busy(&mut self, duration: Duration) -> Figures {
        let mut figures = Figures::default();
        let end_ns = machine::true_ns() + machine::ns(duration);
        while machine::true_ns() < end_ns {
            self.read(&mut figures);
            machine::pass(Duration::from_nanos(50_000 + machine::random(950_000)));
        }
        figures
    }

    fn read(&mut self, figures: &mut Figures) {
        match self.reads {
            Reads::Plain => self.plain(figures),
            Reads::Unix => figures.unix_ns = figures.unix_ns.max(self.unix_error_ns()),
            Reads::Elapsed => figures.elapsed_ns = figures.elapsed_ns.max(self.elapsed_error_ns()),
            Reads::Bounds => {
                let first = machine::random(3);
                for turn in first..first + 3 {
                    match turn % 3 {
                        0 => self.plain(figures),
                        1 => self.bound(figures),
                        // Each status asks the CPU, which takes a virtual machine tens of us.
                        _ if machine::random(4) == 0 => self.status(figures),
                        _ => {}
                    }
                }
            }
        }
    }

    fn plain(&self, figures: &mut Figures) {
        figures.unix_ns = figures.unix_ns.max(self.unix_error_ns());
        figures.elapsed_ns = figures.elapsed_ns.max(self.elapsed_error_ns());
    }

    fn unix_error_ns(&self) -> u64 {
        let before = machine::REALTIME.shown();
        let found = self.subject.unix_ns();
        outside(found, [before, machine::REALTIME.value()])
    }

    pub(crate) fn elapsed_error_ns(&self) -> u64 {
        let before = machine::lived_ns();
        let found = self.subject.elapsed_ns();
        let after = machine::lived_ns();
        outside(found, [before - self.start_ns[1], after - self.start_ns[0]])
    }

    /// Checks the statements of `now_with_uncertainty` and `is_before`.
    fn bound(&mut self, figures: &mut Figures) {
        let before = machine::REALTIME.shown();
        let bounded = self.subject.bounded();
        let os = [before, machine::REALTIME.value()];
        let (earliest, latest) = (bounded.earliest().as_nanos(), bounded.latest().as_nanos());
        let excess_ns = earliest.saturating_sub(os[1]).max(os[0].saturating_sub(latest));
        figures.claims[0].record(excess_ns);
        figures.widest_ns = figures.widest_ns.max(machine::ns(bounded.uncertainty()));
        let exact = |ns| BoundedTime::new(UnixTime::from_nanos(ns), Duration::ZERO);
        let mut wrong = bounded.is_before(&exact(os[0])) || exact(os[1]).is_before(&bounded);
        if let Some((last, last_os)) = self.last {
            wrong |= os[0] >= last_os[1] && bounded.is_before(&last);
            wrong |= os[1] <= last_os[0] && last.is_before(&bounded);
        }
        figures.claims[1].record(if wrong { excess_ns.max(1) } else { 0 });
        self.last = Some((bounded, os));
    }

    /// Checks that the uncertainties of the status hold at some moment of its read. A clock that
    /// stands or runs at a wrong rate has a different error a microsecond later, so the error is
    /// taken before and after, and may change by the time between.
    fn status(&self, figures: &mut Figures) {
        let excess_ns = |error_ns: &dyn Fn() -> u64, claim: fn(&Claims) -> Duration| {
            let start_ns = machine::lived_ns();
            let before_ns = error_ns();
            let claimed_ns = machine::ns(claim(&self.subject.claims()));
            let least_ns = before_ns.min(error_ns());
            least_ns.saturating_sub(claimed_ns + machine::lived_ns() - start_ns)
        };
        let realtime_ns = excess_ns(&|| self.unix_error_ns(), |claims| claims.realtime);
        figures.claims[2].record(realtime_ns);
        let monotonic_ns = excess_ns(&|| self.monotonic_error_ns(), |claims| claims.monotonic);
        figures.claims[3].record(monotonic_ns);
    }

    fn monotonic_error_ns(&self) -> u64 {
        let before = StdInstant::now();
        let found = self.subject.monotonic();
        let after = StdInstant::now();
        let early = before.saturating_duration_since(found);
        machine::ns(found.saturating_duration_since(after).max(early))
    }
}

/// Returns the distance of `value` from an interval.
fn outside(value: u64, [low, high]: [u64; 2]) -> u64 {
    low.saturating_sub(value).max(value.saturating_sub(high))
}
