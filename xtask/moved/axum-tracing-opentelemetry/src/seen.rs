//! A span that has arrived.

use std::collections::BTreeMap;
use std::fmt;

pub struct Seen {
    pub name: String,
    pub kind: String,
    pub trace_id: String,
    pub parent_span_id: String,
    pub status: String,
    pub attributes: BTreeMap<String, String>,
}

/// Attributes that the options of both choose, or that each measures by itself.
const OPTIONS: [&str; 5] = ["busy_ns", "code.", "idle_ns", "target", "thread."];

/// Without ids, which no two runs share.
impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parent = if self.parent_span_id.trim_matches('0').is_empty() { "root" } else { "child" };
        write!(f, "{} {} {parent} {}", self.name, self.kind, self.status)?;
        let is_option = |key: &str| OPTIONS.iter().any(|option| key.starts_with(option));
        let own = self.attributes.iter().filter(|(key, _)| !is_option(key));
        own.map(|(key, value)| write!(f, " {key}={value}")).collect()
    }
}
