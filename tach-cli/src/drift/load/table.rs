//! The findings as text.

use super::histogram::{Histogram, shown};
use super::{Compared, Found};
use crate::measure::WIDEST_NS;
use crate::output::{Table, Width, faint, paragraph};

const ERRORS: [&str; 4] = ["mean", "p50", "p99.9", "max"];

impl Found {
    pub(in crate::drift) fn text(&self, width: Width) -> String {
        let headings = ["timeline", "compared"].into_iter().chain(ERRORS);
        let mut timelines = Table::new(headings.chain(["wide", "backward", "syncs"]));
        for Compared { name, tally, syncs } in &self.timelines {
            let cells = [(*name).to_owned(), tally.comparisons.to_string()].into_iter();
            let counts = [tally.wide.to_string(), tally.backward.to_string(), syncs.to_string()];
            timelines.row(cells.chain(errors(&tally.errors_ns)).chain(counts));
        }
        let note = format!("wide: brackets of more than {WIDEST_NS} ns, whose errors are left out");
        let note = faint(paragraph(&note, width));
        let mut intervals = Table::new(["intervals of", "compared"].into_iter().chain(ERRORS));
        // A length beyond the run has none.
        for (length, found) in self.intervals.errors().filter(|(_, found)| found.count() > 0) {
            let cells = [length.to_owned(), found.count().to_string()].into_iter();
            intervals.row(cells.chain(errors(found)));
        }
        let text = format!("{}\n{note}", timelines.text(width));
        let has_intervals = self.intervals.errors().any(|(_, found)| found.count() > 0);
        if has_intervals { format!("{text}\n\n{}", intervals.text(width)) } else { text }
    }
}

fn errors(ns: &Histogram) -> [String; 4] {
    match (ns.mean(), ns.per_mille(500), ns.per_mille(999), ns.max()) {
        (Some(mean), Some(p50), Some(p999), Some(max)) => {
            [format!("{mean:.1}"), shown(p50), shown(p999), max.to_string()].map(|ns| ns + " ns")
        }
        _ => ["-"; 4].map(str::to_owned),
    }
}
