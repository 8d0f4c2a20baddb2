//! Tables of tach's commands, from the JSON that they print.

use bench_tables::{Table, column};
use serde_json::Value;

/// Returns the table of `tach drift`.
pub(super) fn drift(printed: &Value) -> Vec<Table> {
    let columns = [
        column("median", "ns", 0),
        column("greatest", "ns", 0),
        column("at the end", "ns", 0),
        column("drift", "ppb", 1),
    ];
    let keys = ["median_ns", "max_ns", "last_ns", "drift_ppb"];
    let mut table = Table::new("error of a clock", columns);
    for clock in list(&printed["clocks"]) {
        table.row(name(clock), keys.map(|key| vec![number(&clock[key])]));
    }
    vec![table]
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
    fn drift_has_a_row_for_each_clock() {
        let clock = json!({"name": "quanta", "median_ns": 387.2, "max_ns": 780.0,
            "last_ns": -776.0, "drift_ppb": -154.74});
        let [table] = &drift(&json!({"clocks": [clock]}))[..] else { panic!("one table") };
        let cells = ["median", "at the end", "drift"].map(|column| table.cell("quanta", column));
        assert_eq!(cells.map(Option::unwrap), ["387", "-776", "-154.7"]);
    }
}
