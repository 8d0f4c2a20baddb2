//! A published program, and what the page changes in it.

use std::path::Path;

use super::used::Used;
use crate::peers::taken::File;

pub(super) struct Program {
    /// The name of its package in the registry.
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) form: Form,
    /// Commands without which it does not work with its dependencies' newest versions, or takes
    /// long to compile. They are no part of the move.
    pub(super) repairs: &'static [&'static str],
    /// The page's commands that change the manifest, such as `cargo add tach-log`.
    pub(super) commands: &'static [&'static str],
    pub(super) changes: &'static [Change],
    /// The arguments of cargo that name what is built and tested.
    pub(super) targets: &'static [&'static str],
    /// The number of its tests.
    pub(super) tests: usize,
    /// Uses the program, whose executables are in the folder.
    pub(super) session: Option<Session>,
    /// Returns what a line before the move and one after it have in common.
    pub(super) same_line: fn(&str) -> String,
    /// Lines on the page, before and after the move.
    pub(super) shown: &'static [[&'static str; 2]],
}

/// Uses executables and returns what they did.
type Session = fn(&Path) -> Result<Used, String>;

/// The files that are compiled.
pub(super) enum Form {
    /// The whole package.
    Whole,
    /// Parts of its files, in a package of this repository.
    Parts(&'static [File]),
}

/// A part of a file that the page replaces.
pub(super) struct Change {
    pub(super) file: &'static str,
    /// The text that the part begins with.
    pub(super) begin: &'static str,
    /// The text that it ends with, the first one after `begin`, or nothing.
    pub(super) end: &'static str,
    /// Each line stands on the page, except the lines of `own`.
    pub(super) with: &'static str,
    /// Lines that only this program needs.
    pub(super) own: &'static [&'static str],
}

impl Change {
    /// Returns the file's text with the change.
    pub(super) fn apply(&self, text: &str) -> Result<String, String> {
        let gone = |mark: &str| format!("{}: there is no \"{mark}\" to replace", self.file);
        let begin = text.find(self.begin).ok_or_else(|| gone(self.begin))?;
        let rest = &text[begin + self.begin.len()..];
        let end = rest.find(self.end).ok_or_else(|| gone(self.end))? + self.end.len();
        Ok([&text[..begin], self.with, &rest[end..]].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::Change;

    const CHANGE: Change =
        Change { file: "a.rs", begin: "fmt()", end: ";", with: "ours;", own: &[] };

    #[test]
    fn a_part_is_replaced() {
        let changed = CHANGE.apply("a; fmt().b()\n.c(); d;");
        assert_eq!(changed.as_deref(), Ok("a; ours; d;"));
    }

    #[test]
    fn the_part_may_be_its_begin() {
        let change = Change { end: "", ..CHANGE };
        assert_eq!(change.apply("a; fmt().b();").as_deref(), Ok("a; ours;.b();"));
    }

    #[test]
    fn a_part_that_is_gone_is_named() {
        assert_eq!(CHANGE.apply("a;").unwrap_err(), "a.rs: there is no \"fmt()\" to replace");
        assert_eq!(CHANGE.apply("fmt()").unwrap_err(), "a.rs: there is no \";\" to replace");
    }
}
