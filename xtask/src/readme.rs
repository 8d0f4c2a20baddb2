//! The test command that README.md gives to its readers.

use crate::files;
use crate::run::root;

/// The line of README.md before the code block with the test command.
const TEST_MARKER: &str = "<!-- test command -->";

/// Returns the test command that README.md gives to its readers.
pub(crate) fn test_command() -> Result<String, String> {
    let readme = files::read(&root().join("README.md"))?;
    let command = command_in(&readme);
    command
        .map(str::to_owned)
        .ok_or_else(|| format!("README.md has no code block after {TEST_MARKER}"))
}

/// Returns the first line of the first code block after the marker.
fn command_in(readme: &str) -> Option<&str> {
    let (_, after) = readme.split_once(TEST_MARKER)?;
    let mut lines = after.lines().skip_while(|line| !line.starts_with("```"));
    lines.next()?;
    lines.next().filter(|line| !line.starts_with("```"))
}

#[cfg(test)]
mod tests {
    use super::command_in;
    use crate::files;
    use crate::run::{output, program, root};

    /// Each row of the table of trust but the first has tests, and there is each of them.
    #[test]
    fn each_row_of_trust_has_its_tests() {
        let security = files::read(&root().join("SECURITY.md")).unwrap();
        let rows =
            security.lines().skip_while(|line| !line.starts_with("| the program that calls"));
        let rows: Vec<_> = rows.skip(1).take_while(|line| line.starts_with('|')).collect();
        assert!(rows.len() > 9, "{rows:#?}");
        for row in rows {
            let tests: Vec<_> =
                row.rsplit('|').nth(1).unwrap().split(", ").map(str::trim).collect();
            for test in tests {
                let name = test.trim_matches('`');
                assert!(name.len() + 2 == test.len(), "{row}: {test:?} is no name of a test");
                let found = ["grep", "-l", "-w", &format!("fn {name}"), "--", "*.rs"];
                assert!(output(&mut program("git", &found)).is_ok(), "there is no test {name}");
            }
        }
    }

    #[test]
    fn the_command_follows_its_marker() {
        let readme = "```sh\nno\n```\n<!-- test command -->\n```sh\ncargo test\n```\n";
        assert_eq!(command_in(readme), Some("cargo test"));
        assert_eq!(command_in("```sh\ncargo test\n```\n"), None);
        assert_eq!(command_in("<!-- test command -->\n```sh\n```\n"), None);
    }
}
