//! The part of a peer's file that is run, with substitutions.

use std::path::Path;

use crate::files;

/// A file of the peer's.
pub(super) struct File {
    /// Its path in the peer's sources.
    pub(super) from: &'static str,
    /// The text that the part begins with. Without it, the part begins with the file.
    pub(super) begin: Option<&'static str>,
    /// The text before which the part ends. Without it, the part ends with the file.
    pub(super) end: Option<&'static str>,
    /// The file in `target/peers/NAME`.
    pub(super) to: &'static str,
    /// Texts, each with its replacement.
    pub(super) substitutions: &'static [(&'static str, &'static str)],
    /// Tests that are not run, each with the reason.
    pub(super) left_out: &'static [(&'static str, &'static str)],
}

/// A test begins with it.
const TEST: &str = "#[test]";

impl File {
    /// Returns the part of the file's `text` that is run. Fails if a text that is searched for is
    /// not there.
    pub(super) fn take(&self, text: &str) -> Result<String, String> {
        let place = |mark: &str| text.find(mark).ok_or_else(|| format!("there is no \"{mark}\""));
        let begin = self.begin.map_or(Ok(0), place)?;
        let end = self.end.map_or(Ok(text.len()), place)?;
        let mut part = text.get(begin..end).ok_or("the part ends before it begins")?.to_owned();
        for (old, new) in self.substitutions {
            if !part.contains(old) {
                return Err(format!("the substitution of \"{old}\" no longer matches"));
            }
            part = part.replace(old, new);
        }
        for (test, reason) in self.left_out {
            let function = format!("fn {test}(");
            if !part.contains(&function) {
                return Err(format!("there is no test {test} to leave out"));
            }
            part = part.replace(&function, &format!("#[ignore = {reason:?}]\n{function}"));
        }
        Ok(part)
    }
}

/// Returns a fault for each file with tests that is neither taken nor left out, and for each that
/// is left out and has no tests.
pub(super) fn unmentioned(
    sources: &Path,
    taken: &[File],
    left_out: &[(&str, &str)],
) -> Result<Vec<String>, String> {
    let mut with_tests = Vec::new();
    find_tests(sources, sources, &mut with_tests)?;
    with_tests.sort();
    let left_out: Vec<&str> = left_out.iter().map(|(name, _)| *name).collect();
    let is_mentioned = |name: &&String| {
        left_out.contains(&&***name) || taken.iter().any(|file| file.from == **name)
    };
    let new = with_tests.iter().filter(|name| !is_mentioned(name));
    let new = new.map(|name| format!("{name} has tests, and is neither taken nor left out"));
    let old = left_out.iter().filter(|name| with_tests.iter().all(|other| other != **name));
    let old = old.map(|name| format!("{name} is left out, and has no tests"));
    Ok(new.chain(old).collect())
}

/// Adds the files with tests to `found`, by their paths in `sources`.
fn find_tests(folder: &Path, sources: &Path, found: &mut Vec<String>) -> Result<(), String> {
    for path in files::entries(folder)? {
        if path.is_dir() {
            find_tests(&path, sources, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && files::read(&path)?.contains(TEST)
        {
            let parts = path.strip_prefix(sources).unwrap_or(&path).iter();
            found.push(parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::target;

    const FILE: File = File {
        from: "src/a.rs",
        begin: Some("mod tests"),
        end: Some("benches"),
        to: "a.rs",
        substitutions: &[("b()", "c()"), ("c()", "d()")],
        left_out: &[("slow", "of \"b\"")],
    };

    #[test]
    fn a_part_has_its_substitutions_in_order() {
        let text = "b() mod tests { b(); b() #[test]\nfn slow() } benches b()";
        let part = "mod tests { d(); d() #[test]\n#[ignore = \"of \\\"b\\\"\"]\nfn slow() } ";
        assert_eq!(FILE.take(text).as_deref(), Ok(part));
        let whole = File { begin: None, end: None, substitutions: &[], left_out: &[], ..FILE };
        assert_eq!(whole.take(text).as_deref(), Ok(text));
    }

    #[test]
    fn a_text_that_is_gone_is_named() {
        let fault = |text: &str| FILE.take(text).unwrap_err();
        assert_eq!(fault("b() benches"), "there is no \"mod tests\"");
        assert_eq!(fault("mod tests b()"), "there is no \"benches\"");
        assert_eq!(fault("benches mod tests"), "the part ends before it begins");
        // Outside the part, the text does not count.
        let gone = "the substitution of \"b()\" no longer matches";
        assert_eq!(fault("b() mod tests benches"), gone);
        assert_eq!(fault("mod tests b() benches"), "there is no test slow to leave out");
    }

    #[test]
    fn each_file_with_tests_is_taken_or_left_out() {
        let sources = target().join("peers-of-a-test");
        files::fresh_folder(&sources.join("src")).unwrap();
        for (name, text) in [("a", TEST), ("b", TEST), ("c", ""), ("d", TEST)] {
            files::write(&sources.join("src").join(name).with_extension("rs"), text).unwrap();
        }
        let left_out = [("src/b.rs", ""), ("src/c.rs", "")];
        let faults = unmentioned(&sources, &[FILE], &left_out).unwrap();
        let expected = [
            "src/d.rs has tests, and is neither taken nor left out",
            "src/c.rs is left out, and has no tests",
        ];
        assert_eq!(faults, expected);
    }
}
