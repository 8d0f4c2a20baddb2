//! `tach compare`: reports of several hosts side by side.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::Outcome;
use crate::output::{Ns, Output, Table, Width, faint, hanging, heading};

/// Compares reports of several hosts
///
/// Each file has the output of `tach doctor --json` on a host. Prints the facts that differ, and
/// all that was measured.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The reports, two or more
    #[arg(num_args = 2.., required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Facts, by their place in a report.
const FACTS: [(&str, &str); 19] = [
    ("tach", "/tach"),
    ("platform", "/platform"),
    ("kernel", "/host/kernel"),
    ("CPU", "/host/cpu"),
    ("CPU flags", "/host/tsc_flags"),
    ("verdict", "/verdict"),
    ("source", "/source"),
    ("reason", "/reason"),
    ("order", "/order"),
    ("counter is invariant", "/counter/is_invariant"),
    ("clocksource", "/host/clocksource"),
    ("available", "/host/available_clocksources"),
    ("kernel parameters", "/host/kernel_parameters"),
    ("hypervisor", "/host/hypervisor"),
    ("machine", "/host/machine"),
    ("vmclock", "/host/vmclock"),
    ("sandboxes", "/host/sandboxes"),
    ("synchronized", "/ntp/is_synchronized"),
    ("daemons", "/daemons/running"),
];

/// The values of one name, in the order of the files.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row<T> {
    name: String,
    values: Vec<T>,
}

#[derive(Debug, Serialize)]
struct Comparison {
    /// The names of the files, without their extensions.
    hosts: Vec<String>,
    /// Facts that all hosts share.
    same: Vec<&'static str>,
    different: Vec<Row<String>>,
    /// Times in ns; `null` where one was not measured.
    measured_ns: Vec<Row<Option<f64>>>,
}

pub(crate) fn run(options: &Options, output: &mut Output) -> anyhow::Result<Outcome> {
    let mut reports = Vec::new();
    for path in &options.files {
        let name = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("can't read {name}"))?;
        let report: Value = serde_json::from_str(&text)
            .with_context(|| format!("{name} is no output of tach doctor --json"))?;
        ensure!(report["verdict"].is_string(), "{name} is no output of tach doctor --json");
        let host = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        reports.push((host, report));
    }
    let comparison = Comparison::of(&reports);
    output.write(&comparison, |width| comparison.text(width))?;
    Ok(Outcome::Good)
}

impl Comparison {
    fn of(reports: &[(String, Value)]) -> Self {
        let (mut same, mut different) = (Vec::new(), Vec::new());
        for (name, place) in FACTS {
            let values: Vec<_> = reports.iter().map(|(_, report)| fact(report, place)).collect();
            if values.iter().all(|value| *value == values[0]) {
                same.push(name);
            } else {
                different.push(Row { name: name.to_owned(), values });
            }
        }
        let codes: Vec<_> = reports.iter().map(|(_, report)| codes(report)).collect();
        let mut all: Vec<_> = codes.iter().flatten().collect();
        all.sort_unstable();
        all.dedup();
        for code in all {
            let values = codes.iter().map(|codes| if codes.contains(code) { "yes" } else { "no" });
            let values: Vec<_> = values.map(str::to_owned).collect();
            if values.iter().any(|value| value == "no") {
                different.push(Row { name: format!("finding {code}"), values });
            }
        }
        Self {
            hosts: reports.iter().map(|(host, _)| host.clone()).collect(),
            same,
            different,
            measured_ns: measured(reports),
        }
    }

    fn text(&self, width: Width) -> String {
        let mut parts = Vec::new();
        if !self.same.is_empty() {
            let same = self.same.join(", ");
            parts.push(hanging("The same: ", &faint(same).to_string(), 10, width));
        }
        if !self.different.is_empty() {
            let hosts = self.hosts.iter();
            let mut table = hosts.fold(Table::new(["fact"]), |table, host| table.words(host));
            for Row { name, values } in &self.different {
                table.row([name].into_iter().chain(values).cloned());
            }
            parts.push(format!("{}\n{}", heading("Different"), table.text(width)));
        }
        let mut table =
            Table::new(["time"].into_iter().chain(self.hosts.iter().map(String::as_str)));
        for Row { name, values } in &self.measured_ns {
            let values = values.iter();
            let values = values.map(|ns| ns.map_or("-".to_owned(), |ns| Ns(ns).to_string()));
            table.row([name.clone()].into_iter().chain(values));
        }
        parts.push(format!("{}\n{}", heading("Measured"), table.text(width)));
        parts.join("\n\n")
    }
}

/// Returns a fact as a text.
fn fact(report: &Value, place: &str) -> String {
    match report.pointer(place) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(values)) if values.is_empty() => "-".to_owned(),
        Some(Value::Array(values)) => {
            values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
        }
        Some(other) => other.to_string(),
    }
}

/// Returns the codes of the findings.
fn codes(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().into_iter().flatten();
    findings.filter_map(|finding| Some(finding["code"].as_str()?.to_owned())).collect()
}

/// Returns the rows of what was measured on some host.
fn measured(reports: &[(String, Value)]) -> Vec<Row<Option<f64>>> {
    let mut names: Vec<String> = Vec::new();
    for (_, report) in reports {
        let costs = report["costs"].as_array().into_iter().flatten();
        for name in costs.filter_map(|cost| cost["name"].as_str()) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    let cost = |report: &Value, name: &str| {
        let mut costs = report["costs"].as_array()?.iter();
        costs.find(|cost| cost["name"] == name)?["ns"].as_f64()
    };
    let rows = names.iter().map(|name| Row {
        name: format!("{name}, a read"),
        values: reports.iter().map(|(_, report)| cost(report, name)).collect(),
    });
    let at = |name: &str, value: &dyn Fn(&Value) -> Option<f64>| Row {
        name: name.to_owned(),
        values: reports.iter().map(|(_, report)| value(report)).collect(),
    };
    let is_known = |report: &Value, code: &str| {
        let unknown = report["not_measured"].as_array();
        unknown.is_none_or(|unknown| unknown.iter().all(|one| one != code))
    };
    let timeline = |report: &Value, code: &str| {
        let found = report.pointer(&format!("/errors/{code}/max_ns"))?;
        found.as_f64().filter(|_| is_known(report, code))
    };
    let skew = |report: &Value| {
        let cores = report["skew"].as_array()?.iter();
        let sizes = cores.filter_map(|core| core["offset_ns"].as_f64()).map(f64::abs);
        sizes.max_by(f64::total_cmp).filter(|_| is_known(report, "skew"))
    };
    let bound = |report: &Value| report.pointer("/ntp/max_error_ns").and_then(Value::as_f64);
    let is_synchronized =
        |report: &Value| report.pointer("/ntp/is_synchronized") == Some(&true.into());
    let others = [
        at("elapsed time, error", &|report| timeline(report, "monotonic")),
        at("Unix time, error", &|report| timeline(report, "realtime")),
        at("skew of cores", &skew),
        at("from UTC at worst", &|report| bound(report).filter(|_| is_synchronized(report))),
    ];
    let is_there = |row: &Row<Option<f64>>| row.values.iter().any(Option::is_some);
    rows.chain(others).filter(is_there).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(cpu: &str, ns: f64, code: &str) -> Value {
        json!({
            "verdict": "good", "tach": "0.1.0", "host": {"cpu": cpu, "tsc_flags": ["a", "b"]},
            "findings": [{"code": code}, {"code": "no-vmclock"}],
            "costs": [{"name": "tach Instant", "ns": ns}],
            "skew": [{"core": 1, "offset_ns": -7.0, "bound_ns": 9.0}],
            "errors": {"monotonic": {"max_ns": 3.0}},
            "not_measured": if cpu == "A" { vec!["monotonic"] } else { Vec::new() },
        })
    }

    #[test]
    fn what_differs_is_side_by_side() {
        let reports = [
            ("a".to_owned(), report("A", 9.0, "x")),
            ("b".to_owned(), report("B", 12.5, "no-vmclock")),
        ];
        let found = Comparison::of(&reports);
        assert_eq!(found.same.len(), FACTS.len() - 1);
        let row = |name: &str, values: [&str; 2]| Row {
            name: name.to_owned(),
            values: values.map(str::to_owned).to_vec(),
        };
        assert_eq!(found.different, [row("CPU", ["A", "B"]), row("finding x", ["yes", "no"])]);
        let measured = |name: &str, values: [Option<f64>; 2]| Row {
            name: name.to_owned(),
            values: values.to_vec(),
        };
        let expected = [
            measured("tach Instant, a read", [Some(9.0), Some(12.5)]),
            measured("elapsed time, error", [None, Some(3.0)]),
            measured("skew of cores", [Some(7.0), Some(7.0)]),
        ];
        assert_eq!(found.measured_ns, expected);
        let text = found.text(Width::MOST);
        assert!(text.contains("\nCPU") && text.contains("9.0 ns") && text.contains('-'), "{text}");
    }

    #[test]
    fn a_fact_is_a_text() {
        let report = json!({"a": {"b": true}, "c": [], "d": ["x", "y"], "e": null});
        let facts = ["/a/b", "/c", "/d", "/e", "/f"].map(|place| fact(&report, place));
        assert_eq!(facts, ["true", "-", "x y", "-", "-"]);
    }
}
