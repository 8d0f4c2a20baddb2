//! The counters of two CPUs differ after a suspend: strict order holds.

use core::time::Duration;

use tach_core::{MonotonicInstant, Order, status};

use super::Scenario;
use crate::linux::child::settle;
use crate::linux::machine::{self, COUNTER, SECOND};
use crate::linux::report::Report;
use crate::linux::subject::Tach;
use crate::linux::watch::{Reads, Watch};

/// By how much the counters differ.
const APART: [Duration; 2] = [Duration::from_micros(90), Duration::from_micros(1_500)];
const MOVES: u64 = 4_000;

pub(crate) fn scenarios() -> Vec<Scenario> {
    let scenario = |apart: Duration| {
        Scenario::new(
            format!("apart/by-{}us", apart.as_micros()),
            move |report| {
                settle();
                machine::suspend(10 * SECOND);
                Watch::<Tach>::begin(Reads::Plain).busy(SECOND);
                let order = status().order;
                report.holds(order != Order::OrderedRead, format!("the order is by {order:?}"));
                moves(apart, MonotonicInstant::now, report);
            },
            move |report| moves(apart, machine::read_counter, report),
        )
    };
    APART.map(scenario).into_iter().collect()
}

/// Moves a thread between the two CPUs.
fn moves<T: PartialOrd>(apart: Duration, now: fn() -> T, report: &mut Report) {
    let ticks = i64::try_from(apart.as_nanos()).expect("a short time") / 2 * 5;
    let mut last = now();
    let mut backwards = 0;
    for i in 0..MOVES {
        COUNTER.shift(if i % 2 == 0 { -ticks } else { ticks });
        let next = now();
        backwards += u64::from(next < last);
        last = next;
        machine::pass(Duration::from_micros(20));
    }
    report.at_most("steps back", backwards, 0);
}
