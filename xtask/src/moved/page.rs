//! The page that the replacements are from.

use super::program::Program;
use super::used::{Used, masked};
use crate::files;
use crate::run::root;

const PAGE: &str = "tach-pipeline/docs/moving.md";

pub(super) struct Page {
    text: String,
}

impl Page {
    pub(super) fn read() -> Result<Self, String> {
        Ok(Self { text: files::read(&root().join(PAGE))? })
    }

    /// Returns the commands and the lines of a program's move that are not on the page.
    pub(super) fn faults(&self, program: &Program) -> Vec<String> {
        let commands = program.commands.iter().filter(|command| !self.has(command));
        let commands = commands.map(|it| format!("{}: {PAGE} has no \"{it}\"", program.name));
        let lines = program.changes.iter().flat_map(|change| {
            let is_own = |line: &&str| change.own.contains(line);
            let lines = change.with.lines().map(str::trim).filter(|line| !line.is_empty());
            let lines = lines.filter(move |line| !is_own(line) && !self.has(line));
            lines.map(|line| format!("{}: {PAGE} has no line \"{line}\"", program.name))
        });
        commands.chain(lines).collect()
    }

    /// Returns the lines that the page shows for a program, and that were not printed.
    pub(super) fn unprinted(&self, program: &Program, before: &Used, after: &Used) -> Vec<String> {
        let mut faults = Vec::new();
        for (at, side) in [before, after].into_iter().enumerate() {
            let printed: Vec<_> = side.lines().map(masked).collect();
            for line in program.shown.iter().map(|pair| pair[at]) {
                if !self.has(line) {
                    faults.push(format!("{PAGE} has no line \"{line}\""));
                }
                if !printed.contains(&masked(line)) {
                    faults.push(format!("\"{line}\" is not among the lines:\n{printed:#?}"));
                }
            }
        }
        faults
    }

    /// Returns whether a line of the page, or a cell of its tables, has `text`.
    fn has(&self, text: &str) -> bool {
        // A cell of a table has `\|` for `|`.
        self.text.lines().any(|line| line.contains(text) || line.replace(r"\|", "|").contains(text))
    }
}

#[cfg(test)]
mod tests {
    use super::Page;

    #[test]
    fn a_text_is_within_one_line() {
        let page = Page { text: "a `b(\\|\\| c)` d\n    e\n".to_owned() };
        assert!(page.has("b(|| c)") && page.has("e") && page.has("d"));
        assert!(!page.has("d e") && !page.has("f"));
    }
}
