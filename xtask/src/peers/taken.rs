//! The part of a peer's file that is run, with substitutions.

use std::path::Path;

use crate::files;

/// Texts, each with its replacement.
type Substitutions = &'static [(&'static str, &'static str)];

/// A file of the peer's.
pub(crate) struct File {
    /// Its path in the peer's sources.
    pub(crate) from: &'static str,
    /// The text that the part begins with. Without it, the part begins with the file.
    pub(crate) begin: Option<&'static str>,
    /// The text before which the part ends. Without it, the part ends with the file.
    pub(crate) end: Option<&'static str>,
    /// The file in `target/peers/NAME`.
    pub(crate) to: &'static str,
    pub(crate) substitutions: Substitutions,
    /// Tests that are not run, each with the reason.
    pub(crate) left_out: &'static [(&'static str, &'static str)],
}

/// Texts of which each file with tests has one, whatever runs them: `#[tokio::test]` too.
const TESTS: [&str; 3] = ["test]", "::test(", "#[rstest"];

impl File {
    /// The whole file `from`, as `to`.
    pub(crate) const fn whole(
        from: &'static str,
        to: &'static str,
        substitutions: Substitutions,
    ) -> Self {
        Self { from, begin: None, end: None, to, substitutions, left_out: &[] }
    }

    /// The module `tests` at the end of the file `from`, as `to`.
    pub(crate) const fn tests_of(
        from: &'static str,
        to: &'static str,
        substitutions: Substitutions,
    ) -> Self {
        Self { begin: Some("mod tests {"), ..Self::whole(from, to, substitutions) }
    }

    /// Returns the part of the file's `text` that is run. Fails if a text that is searched for is
    /// not there.
    pub(crate) fn take(&self, text: &str) -> Result<String, String> {
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
            let functions = [format!("async fn {test}("), format!("fn {test}(")];
            let function = functions.iter().find(|function| part.contains(*function));
            let Some(function) = function else {
                return Err(format!("there is no test {test} to leave out"));
            };
            part = part.replace(function, &format!("#[ignore = {reason:?}]\n{function}"));
        }
        Ok(part)
    }

    /// Returns the whole of a file's `text`, in which [the part](Self::take) is changed.
    pub(crate) fn take_within(&self, text: &str) -> Result<String, String> {
        let part = self.take(text)?;
        let before = self.begin.and_then(|begin| text.find(begin)).unwrap_or_default();
        let after = self.end.and_then(|end| text.find(end)).unwrap_or(text.len());
        Ok([&text[..before], &part, &text[after..]].concat())
    }
}

/// Copies the files of the peer's folder `src`, except those that are taken.
pub(crate) fn copy_others(
    sources: &Path,
    to: &Path,
    is_taken: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let mut all = Vec::new();
    find(&sources.join("src"), sources, &mut all)?;
    for name in all.iter().filter(|name| !is_taken(name)) {
        let copy = to.join(name);
        files::create_folder(copy.parent().unwrap_or(to))?;
        files::write_if_new(&copy, &files::read(&sources.join(name))?)?;
    }
    Ok(())
}

/// Returns a fault for each file with tests that is neither taken nor left out, and for each that
/// is left out and has no tests.
pub(crate) fn unmentioned(
    sources: &Path,
    taken: &[File],
    left_out: &[(&str, &str)],
) -> Result<Vec<String>, String> {
    let mut with_tests = Vec::new();
    find(sources, sources, &mut with_tests)?;
    let mut is_readable = Ok(());
    with_tests.retain(|name| match files::read(&sources.join(name)) {
        Ok(text) => TESTS.iter().any(|mark| text.contains(mark)),
        Err(fault) => {
            is_readable = Err(fault);
            false
        }
    });
    is_readable?;
    with_tests.sort();
    let left_out: Vec<&str> = left_out.iter().map(|(name, _)| *name).collect();
    let covers = |left_out: &str, name: &str| {
        left_out == name || left_out.ends_with('/') && name.starts_with(left_out)
    };
    let is_mentioned = |name: &&String| {
        left_out.iter().any(|left_out| covers(left_out, name))
            || taken.iter().any(|file| file.from == **name)
    };
    let new = with_tests.iter().filter(|name| !is_mentioned(name));
    let new = new.map(|name| format!("{name} has tests, and is neither taken nor left out"));
    let old = left_out.iter().filter(|name| !with_tests.iter().any(|other| covers(name, other)));
    let old = old.map(|name| format!("{name} is left out, and has no tests"));
    Ok(new.chain(old).collect())
}

/// Adds the files of Rust to `found`, by their paths in `sources`.
fn find(folder: &Path, sources: &Path, found: &mut Vec<String>) -> Result<(), String> {
    for path in files::entries(folder)? {
        if path.is_dir() {
            find(&path, sources, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
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

    const TEST: &str = "#[test]";
    const ASYNC_TEST: &str = "#[tokio::test(flavor = \"multi_thread\")]";
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
        let whole = File::whole("src/a.rs", "a.rs", &[]);
        assert_eq!(whole.take(text).as_deref(), Ok(text));
        assert_eq!(FILE.take_within(text), Ok(format!("b() {part}benches b()")));
    }

    #[test]
    fn the_module_of_tests_ends_with_its_file() {
        let file = File::tests_of("src/a.rs", "a.rs", &[("b", "c")]);
        assert_eq!(file.take("b mod tests { b }").as_deref(), Ok("mod tests { c }"));
        assert!(file.take("mod test { b }").is_err());
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
        for (name, text) in [("a", TEST), ("b", TEST), ("c", ""), ("d", ASYNC_TEST)] {
            files::write(&sources.join("src").join(name).with_extension("rs"), text).unwrap();
        }
        files::fresh_folder(&sources.join("src/e")).unwrap();
        files::write(&sources.join("src/e/f.rs"), TEST).unwrap();
        let left_out = [("src/b.rs", ""), ("src/c.rs", ""), ("src/e/", "")];
        let faults = unmentioned(&sources, &[FILE], &left_out).unwrap();
        let expected = [
            "src/d.rs has tests, and is neither taken nor left out",
            "src/c.rs is left out, and has no tests",
        ];
        assert_eq!(faults, expected);
    }
}
