//! The scenarios: events on the machine, and checks of the clock.

mod again;
mod apart;
mod back;
mod boot;
mod calm;
mod disabled;
mod frozen;
mod jump_alone;
mod left;
mod lockdown;
mod migration;
mod near_end;
mod order;
mod pause;
mod quiet;
mod slew;
mod step;
mod stepping;
mod stopped;
mod unreadable;

use core::ffi::c_int;

use tach_core::Config;

use super::mode::Mode;
use super::report::Report;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Passed,
    Violated,
    /// It read the clocks in an endless loop.
    Hung,
    /// The kernel killed it by this signal.
    Killed(c_int),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Simulated,
    Real,
}

type Body = Box<dyn Fn(&mut Report)>;

pub(crate) struct Scenario {
    pub(crate) name: String,
    /// The value of `TACH_SOURCE`.
    pub(crate) source: Option<&'static str>,
    /// The configuration that the process installs before its first read.
    pub(crate) config: Option<Config>,
    pub(crate) setting: Setting,
    pub(crate) body: Body,
    pub(crate) control: Body,
    pub(crate) control_end: End,
    /// The modes in which it can't hold. The table in `docs/how-it-works.md` says why.
    exceptions: &'static [Mode],
}

/// The modes in which no counter is read.
const BY_OS_CLOCK: &[Mode] = &[Mode::Replaced, Mode::Os];

impl Scenario {
    /// Creates a scenario on the simulated machine, whose control must find a violation.
    fn new(
        name: String,
        body: impl Fn(&mut Report) + 'static,
        control: impl Fn(&mut Report) + 'static,
    ) -> Self {
        Self {
            name,
            source: None,
            config: None,
            setting: Setting::Simulated,
            body: Box::new(body),
            control: Box::new(control),
            control_end: End::Violated,
            exceptions: &[],
        }
    }

    /// Excepts modes in which the scenario can't hold.
    fn except(self, exceptions: &'static [Mode]) -> Self {
        Self { exceptions, ..self }
    }

    pub(crate) fn holds_in(&self, mode: Mode) -> bool {
        !self.exceptions.contains(&mode)
    }
}

pub(crate) fn all() -> Vec<Scenario> {
    [
        calm::scenarios(),
        again::scenarios(),
        order::scenarios(),
        back::scenarios(),
        boot::scenarios(),
        apart::scenarios(),
        slew::scenarios(),
        lockdown::scenarios(),
        near_end::scenarios(),
        pause::scenarios(),
        quiet::scenarios(),
        migration::scenarios(),
        step::scenarios(),
        left::scenarios(),
        frozen::scenarios(),
        jump_alone::scenarios(),
        stepping::scenarios(),
        stopped::scenarios(),
        unreadable::scenarios(),
        disabled::scenarios(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
