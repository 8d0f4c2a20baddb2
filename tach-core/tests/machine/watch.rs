//! A busy process that compares a clock with the simulated OS clocks at every read.

use core::time::Duration;
use std::time::Instant as StdInstant;

use tach_core::{BoundedTime, UnixTime};

use super::machine;
use super::report::{Readable, Report};
use super::subject::{Claims, Subject};

/// What the process reads each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    /// The Unix time and the time elapsed, without any bound. A look that a bound needs must not
    /// help.
    Plain,
    /// The Unix time alone.
    Unix,
    /// The time elapsed alone.
    Elapsed,
    /// Those, the bounds and the status, in an order that changes.
    Bounds,
}

impl Reads {
    /// The two that read both times.
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

/// A clock, and the start of the durations that are measured.
pub(crate) struct Watch<S> {
    pub(crate) subject: S,
    reads: Reads,
    /// The lived time before and after the start was read.
    start_ns: [u64; 2],
    /// The bound that was read last, with the OS clock's time before and after.
    last: Option<(BoundedTime, [u64; 2])>,
}

/// What was found in a while.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// The largest errors, in ns, apart from what passed within a read.
    pub(crate) unix_ns: u64,
    pub(crate) elapsed_ns: u64,
    /// The widest bound.
    pub(crate) widest_ns: u64,
    claims: [Broken; 4],
}

/// How often a claim was wrong, and by how much at most.
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
    /// Adds what was found in another while.
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

    /// Lets `duration` pass with a read every 50 us to 1 ms, the first of them at once.
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
                        _ => self.status(figures),
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
        let before = machine::REALTIME.value();
        let found = self.subject.unix_ns();
        outside(found, [before, machine::REALTIME.value()])
    }

    pub(crate) fn elapsed_error_ns(&self) -> u64 {
        let before = machine::lived_ns();
        let found = self.subject.elapsed_ns();
        let after = machine::lived_ns();
        outside(found, [before - self.start_ns[1], after - self.start_ns[0]])
    }

    /// Whatever `now_with_uncertainty` and `is_before` say for certain must be so.
    fn bound(&mut self, figures: &mut Figures) {
        let before = machine::REALTIME.value();
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

    /// The uncertainties of the status must hold at some moment while it is read. Where a clock stands or runs
    /// at a wrong rate, the error is another a microsecond later. So it is taken before and after, and may
    /// change by the time between.
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

/// How far `value` lies outside of an interval.
fn outside(value: u64, [low, high]: [u64; 2]) -> u64 {
    low.saturating_sub(value).max(value.saturating_sub(high))
}
