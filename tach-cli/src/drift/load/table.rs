//! The findings as text.

use core::fmt;

use super::histogram::{Histogram, shown};
use super::{Compared, Found};
use crate::measure::WIDEST_NS;

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = Errors::HEADER;
        writeln!(
            f,
            "{:14} {:>11} {errors} {:>9} {:>8} {:>6}",
            "|error| in ns", "comparisons", "wide", "backward", "syncs"
        )?;
        for Compared { name, tally, syncs } in &self.timelines {
            let errors = Errors(&tally.errors_ns);
            writeln!(
                f,
                "{:14} {:>11} {errors} {:>9} {:>8} {:>6}",
                name, tally.comparisons, tally.wide, tally.backward, syncs
            )?;
        }
        writeln!(f, "wide: brackets of more than {WIDEST_NS} ns, whose errors are left out\n")?;
        writeln!(f, "{:14} {:>11} {}", "intervals of", "measured", Errors::HEADER)?;
        for (length, errors_ns) in self.intervals.errors() {
            // A length beyond the run has none.
            if errors_ns.count() > 0 {
                writeln!(f, "{length:14} {:>11} {}", errors_ns.count(), Errors(errors_ns))?;
            }
        }
        Ok(())
    }
}

struct Errors<'a>(&'a Histogram);

impl Errors<'_> {
    const HEADER: &'static str = "   mean     p50   p99.9      max";
}

impl fmt::Display for Errors<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors_ns = self.0;
        let columns =
            (errors_ns.mean(), errors_ns.per_mille(500), errors_ns.per_mille(999), errors_ns.max());
        match columns {
            (Some(mean), Some(p50), Some(p999), Some(max)) => {
                let [p50, p999] = [p50, p999].map(shown);
                write!(f, "{mean:>7.1} {p50:>7} {p999:>7} {max:>8}")
            }
            _ => write!(f, "{:>7} {:>7} {:>7} {:>8}", "-", "-", "-", "-"),
        }
    }
}
