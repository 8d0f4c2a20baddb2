//! Tables of tach's commands, from the JSON that they print.

use bench_tables::{Column, Table, column};
use serde_json::Value;

/// Returns the table of `tach skew`.
pub(super) fn skew(printed: &Value) -> Vec<Table> {
    let columns = [
        column("reads", "", 0),
        column("inversions", "", 0),
        column("largest", "µs", 1),
        column("a second", "millions", 1),
    ];
    let mut table = Table::new("clock", columns);
    let seconds = number(&printed["seconds"]);
    for clock in list(&printed["clocks"]) {
        let [reads, inversions, largest] =
            ["reads", "inversions", "largest_inversion_ns"].map(|key| number(&clock[key]));
        let largest = if inversions > 0.0 { vec![largest / 1e3] } else { Vec::new() };
        let cells = [vec![reads], vec![inversions], largest, vec![reads / seconds / 1e6]];
        table.row(name(clock), cells);
    }
    vec![table]
}

/// Returns the tables of `tach drift`: its clocks, tach's timelines on busy threads, and intervals.
pub(super) fn drift(printed: &Value) -> Vec<Table> {
    let columns = [
        column("median", "ns", 0),
        column("greatest", "ns", 0),
        column("at the end", "ns", 0),
        column("drift", "ppb", 1),
    ];
    let keys = ["median_ns", "max_ns", "last_ns", "drift_ppb"];
    let clocks = filled("error of a clock", &columns, &keys, &printed["clocks"]);
    let errors = [
        column("comparisons", "", 0),
        column("mean", "ns", 1),
        column("p50", "ns", 0),
        column("p99.9", "ns", 0),
        column("greatest", "ns", 0),
    ];
    let keys = ["measured", "mean_ns", "p50_ns", "p99_9_ns", "max_ns"];
    let load = &printed["under_load"];
    let mut of_timelines = errors.to_vec();
    of_timelines.extend([column("backward", "", 0), column("syncs", "", 0)]);
    let of_keys = [&keys[..], &["backward", "syncs"]].concat();
    let timelines = filled("error of a timeline", &of_timelines, &of_keys, &load["timelines"]);
    let intervals = filled("error of intervals of", &errors, &keys, &load["intervals"]);
    vec![clocks, timelines, intervals]
}

/// Returns a table with a row for each item of a list and a column for each key.
fn filled(title: &str, columns: &[Column], keys: &[&str], items: &Value) -> Table {
    let mut table = Table::new(title, columns);
    for item in list(items) {
        let cells: Vec<_> = keys.iter().map(|key| vec![number(&item[key])]).collect();
        table.row(name(item), cells);
    }
    table
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn name(item: &Value) -> &str {
    item["name"].as_str().unwrap_or_default()
}

/// Returns NaN, which a table leaves out, if it is no number.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inversions_have_a_size_and_others_none() {
        let clock = |name: &str, inversions: u64| {
            json!({"name": name, "reads": 8_000_000_u64, "inversions": inversions,
                "largest_inversion_ns": 1_260})
        };
        let printed = json!({"seconds": 2.0, "clocks": [clock("std", 3), clock("tach", 0)]});
        let [table] = &skew(&printed)[..] else { panic!("one table") };
        let expected = "| clock | reads | inversions | largest, µs | a second, millions |\n\
                        |---|---|---|---|---|\n| std | 8,000,000 | 3 | 1.3 | 4.0 |\n\
                        | **tach** | 8,000,000 | 0 | | 4.0 |";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn drift_has_three_tables() {
        let errors = json!({"name": "1 s", "measured": 5, "mean_ns": 0.84, "p50_ns": 1,
            "p99_9_ns": 2, "max_ns": 3, "backward": 0, "syncs": 12});
        let clock = json!({"name": "quanta", "median_ns": 387.2, "max_ns": 780.0,
            "last_ns": -776.0, "drift_ppb": -154.74});
        let load = json!({"timelines": [errors], "intervals": [errors]});
        let tables = drift(&json!({"clocks": [clock], "under_load": load}));
        let cell = |at: usize, row: &str, column: &str| tables[at].cell(row, column).unwrap();
        assert_eq!(cell(0, "quanta", "drift"), "-154.7");
        assert_eq!((cell(1, "1 s", "mean"), cell(1, "1 s", "syncs")), ("0.8".into(), "12".into()));
        assert_eq!((cell(2, "1 s", "greatest"), tables.len()), ("3".into(), 3));
    }
}
