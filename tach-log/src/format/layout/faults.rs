//! Options of a layout that have no effect.

use super::{Layout, What};

impl Layout {
    /// Returns a sentence for each option that has no effect: the call, and what would be right.
    pub(in crate::format) fn faults(&self) -> Vec<String> {
        let format = self.syntax.format();
        let mut faults = Vec::new();
        for key in &self.missed {
            let parts: Vec<_> = self.parts.iter().map(|part| format!("{:?}", part.key)).collect();
            let parts = if parts.is_empty() { "none".to_owned() } else { parts.join(", ") };
            faults.push(format!("without({key:?}): no part had this key; the parts are {parts}"));
        }
        for renamed in self.renamed.iter().filter(|renamed| renamed.kind.is_none()) {
            faults.extend(self.fault_of_rename(&renamed.field, &renamed.key));
        }
        if let Some(call) = self.time.zone_call().filter(|_| self.is_unix) {
            faults.push(format!("{call}: Unix time has no zone; call either {call} or unix"));
        }
        faults.extend(self.time.fault());
        if self.max_depth == 0 {
            faults.push("max_depth(0): a line is an object, so its depth is 1 or more".to_owned());
        }
        faults.iter().map(|fault| format!("{format}::{fault}")).collect()
    }

    fn fault_of_rename(&self, field: &str, key: &str) -> Option<String> {
        let part = |key: &str| self.parts.iter().find(|part| part.key == key);
        let call = format!("rename({field:?}, {key:?})");
        // If the part is a fixed value or an id, a field may have the same key. Then `rename` is
        // right: it separates the two.
        if let Some(right) = part(field).and_then(|part| part.what.right(key)) {
            return Some(format!(
                "{call}: {field:?} is the key of a part, and rename is for fields; use {right}"
            ));
        }
        part(key)
            .map(|_| format!("{call}: {key:?} is the key of a part, which keeps it; use another"))
    }
}

impl What {
    /// Returns the call that writes a built-in part with another key.
    fn right(&self, key: &str) -> Option<String> {
        Some(match self {
            Self::Fixed(_) | Self::ErrorType | Self::Id(_) => return None,
            Self::Spans => format!("spans({key:?})"),
            // Google Cloud reads the file and the line from one key.
            Self::SourceLocation => "Part::File and Part::Line".to_owned(),
            Self::RequiredMessage => format!("with({key:?}, Part::Message)"),
            // The other kinds have the names of their `Part`, which `Debug` prints.
            part => format!("with({key:?}, Part::{part:?})"),
        })
    }
}
