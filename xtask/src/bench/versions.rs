//! The versions of rivals, in the rows of a quoted table.

use std::collections::BTreeMap;

use bench_tables::Table;

/// Rows whose names are not those of the crates behind them.
const BEHIND: [(&str, &[&str]); 8] = [
    ("registry", &["tracing-subscriber"]),
    ("FmtSpan::CLOSE", &["tracing-subscriber"]),
    ("FmtSpan::CLOSE without times", &["tracing-subscriber"]),
    ("tracing-opentelemetry", &["opentelemetry_sdk"]),
    ("leanest", &["tracing-opentelemetry", "opentelemetry_sdk"]),
    ("default, unsampled", &["tracing-opentelemetry", "opentelemetry_sdk"]),
    ("fastrace", &["fastrace-opentelemetry"]),
    ("quill", &[]),
];

/// Returns the table with the version of each crate behind its name, in all rows but tach's own.
/// `std` has the version of Rust.
pub(super) fn named(table: &Table, versions: &BTreeMap<String, String>, rustc: &str) -> Table {
    let mut table = table.clone();
    for row in table.rows.iter_mut().filter(|row| !row.name.starts_with("tach")) {
        row.name = with_versions(&row.name, versions, rustc);
    }
    table
}

fn with_versions(row: &str, versions: &BTreeMap<String, String>, rustc: &str) -> String {
    let std = ("std".to_owned(), rustc.split(' ').nth(1).unwrap_or_default().to_owned());
    let known = versions.iter().chain([(&std.0, &std.1)]).filter(|(_, of)| !of.is_empty());
    // Replace from the end, so that the positions before stay valid.
    let mut found: Vec<_> =
        known.filter_map(|(name, version)| Some((end_of(row, name)?, version))).collect();
    found.sort_unstable();
    let mut text = row.to_owned();
    for (at, version) in found.iter().rev() {
        text.insert_str(*at, &format!(" {version}"));
    }
    let behind = BEHIND.iter().find(|(name, _)| *name == row).map(|(_, crates)| *crates);
    let behind: Vec<_> = behind
        .unwrap_or_default()
        .iter()
        .filter_map(|name| Some(format!("{name} {}", versions.get(*name)?)))
        .collect();
    if behind.is_empty() { text } else { format!("{text} ({})", behind.join(", ")) }
}

/// Returns the end of a crate's name in a text, if it stands there as a word.
fn end_of(text: &str, name: &str) -> Option<usize> {
    let is_of_name = |character: char| character.is_alphanumeric() || "-_".contains(character);
    text.match_indices(name).map(|(at, _)| (at, at + name.len())).find_map(|(at, end)| {
        let is_word = !text[..at].ends_with(is_of_name) && !text[end..].starts_with(is_of_name);
        is_word.then_some(end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_have_versions_and_tach_has_none() {
        let versions = [
            ("quanta", "0.12.6"),
            ("tracing", "0.1.44"),
            ("tracing-appender", "0.2.5"),
            ("tracing-opentelemetry", "0.34.0"),
            ("opentelemetry_sdk", "0.33.1"),
            ("log", "0.4.35"),
            ("tower", "0.5.3"),
        ];
        let versions = versions.map(|(name, version)| (name.to_owned(), version.to_owned())).into();
        let rustc = "rustc 1.95.0 (59807616e 2026-04-14)";
        for (row, expected) in [
            ("quanta Instant::recent", "quanta 0.12.6 Instant::recent"),
            ("std Instant", "std 1.95.0 Instant"),
            (
                "tracing JSON through tracing-appender",
                "tracing 0.1.44 JSON through tracing-appender 0.2.5",
            ),
            ("leanest", "leanest (tracing-opentelemetry 0.34.0, opentelemetry_sdk 0.33.1)"),
            ("tracing-opentelemetry", "tracing-opentelemetry 0.34.0 (opentelemetry_sdk 0.33.1)"),
            ("tower's `Timeout`", "tower 0.5.3's `Timeout`"),
            ("tower-http's `TimeoutLayer`", "tower-http's `TimeoutLayer`"),
            ("bare rdtsc", "bare rdtsc"),
        ] {
            assert_eq!(with_versions(row, &versions, rustc), expected);
        }
        let mut table = Table::new("calls", []);
        table.row("tach log", []);
        table.row("log", []);
        let rows = named(&table, &versions, rustc).rows;
        let names: Vec<_> = rows.iter().map(|row| &*row.name).collect();
        assert_eq!(names, ["tach log", "log 0.4.35"]);
    }
}
