//! The documents that quote records.
//!
//! A quotation stands between two comments: `<!-- record NAME | TABLE -->` and `<!-- end -->` for a
//! table, `<!-- record NAME | TABLE | ROW | COLUMN -->` for one figure within a line. In a table of
//! the document the bars are `\|`: GitHub would end the cell at `|`.

use super::record::Record;
use super::versions;
use crate::files;
use crate::run::root;

const DOCUMENTS: [&str; 3] = ["README.md", "BENCHMARKS.md", "tach-sinks/README.md"];
const START: &str = "<!-- record ";
const CLOSE: &str = " -->";
const END: &str = "<!-- end -->";

/// Writes what the records have into the documents.
pub(super) fn fill_all(records: &[Record]) -> Result<(), String> {
    for name in DOCUMENTS {
        let path = root().join(name);
        files::write(&path, &compare(name, &files::read(&path)?, records)?.filled)?;
    }
    check_all(records)
}

/// Fails if a document differs from the records, or if no document quotes a record.
pub(super) fn check_all(records: &[Record]) -> Result<(), String> {
    let mut problems = Vec::new();
    let mut quoted = Vec::new();
    for name in DOCUMENTS {
        let compared = compare(name, &files::read(&root().join(name))?, records)?;
        problems.extend(compared.differences);
        quoted.extend(compared.quoted);
    }
    problems.extend(unquoted(records, &quoted));
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn unquoted(records: &[Record], quoted: &[String]) -> Vec<String> {
    let unused = records.iter().filter(|record| !quoted.contains(&record.name));
    let problem =
        |record: &Record| format!("no document quotes benches/records/{}.json", record.name);
    unused.map(problem).collect()
}

#[derive(Debug, Default)]
struct Compared {
    /// The document as it should be.
    filled: String,
    differences: Vec<String>,
    /// The names of the records that it quotes.
    quoted: Vec<String>,
}

fn compare(document: &str, text: &str, records: &[Record]) -> Result<Compared, String> {
    let mut compared = Compared::default();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(START) {
        compared.filled.push_str(before);
        let at = |bytes: usize| text[..bytes].matches('\n').count() + 1;
        let line = at(text.len() - after.len());
        let place = format!("{document}:{line}");
        let unended = || format!("{place}: a quotation without \"{END}\"");
        let (source, after) = after.split_once(CLOSE).ok_or_else(unended)?;
        let start = text.len() - after.len();
        let (here, after) = after.split_once(END).ok_or_else(unended)?;
        if here.contains(START) {
            return Err(unended());
        }
        let quotation =
            Quotation::find(source, records).map_err(|why| format!("{place}: {why}"))?;
        if quotation.is_figure && before.ends_with('\n') {
            // In Markdown, a line that begins with a comment would end the paragraph.
            return Err(format!("{place}: a quoted figure may not begin a line"));
        }
        if here != quotation.text {
            let lines = here.lines().zip(quotation.text.lines());
            let same = lines.take_while(|(here, there)| here == there).count();
            let [here, there] =
                [here, &quotation.text].map(|text| first_text(text.lines().skip(same)));
            let place = format!("{document}:{}", at(start) + same);
            compared.differences.push(format!(
                "{place}: \"{here}\" is in the document, \"{there}\" in the record {}",
                quotation.record
            ));
        }
        for part in [START, source, CLOSE, &quotation.text, END] {
            compared.filled.push_str(part);
        }
        compared.quoted.push(quotation.record);
        rest = after;
    }
    compared.filled.push_str(rest);
    Ok(compared)
}

fn first_text<'a>(mut lines: impl Iterator<Item = &'a str>) -> &'a str {
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

struct Quotation {
    record: String,
    text: String,
    is_figure: bool,
}

impl Quotation {
    /// Returns what the document should have between the comments.
    fn find(source: &str, records: &[Record]) -> Result<Self, String> {
        let source = source.replace(" \\| ", " | ");
        let parts: Vec<_> = source.split(" | ").collect();
        let (&name, parts) = parts.split_first().unwrap_or((&"", &[]));
        let record = records.iter().find(|record| record.name == name);
        let record = record.ok_or_else(|| format!("there is no record \"{name}\""))?;
        let title = parts.first().copied().unwrap_or_default();
        let table = record.tables.iter().find(|table| table.name == title);
        let table = table.ok_or_else(|| format!("{name} has no table \"{title}\""))?;
        let (text, is_figure) = match parts {
            [_] => {
                let table = versions::named(table, &record.versions, &record.rustc);
                (format!("\n\n{table}\n\n"), false)
            }
            [_, row, column] => match table.cell(row, column) {
                Some(cell) => (cell, true),
                None => return Err(format!("{title} of {name} has no \"{row} | {column}\"")),
            },
            _ => return Err(format!("\"{source}\" names no table, row and column")),
        };
        Ok(Self { record: name.to_owned(), text, is_figure })
    }
}

#[cfg(test)]
mod tests {
    use bench_tables::{Table, column};

    use super::super::record::tests::record;
    use super::*;

    const RIGHT: &str = "# Doc\n\n<!-- record clocks-a | now() -->\n\n| now() | cost, ns |\n\
        |---|---|\n| std | 23.31 |\n| **tach** | 8.47 |\n\n<!-- end -->\n\nA read takes\n\
        some <!-- record clocks-a | now() | tach | cost -->8.47<!-- end --> ns.\n";

    fn records() -> Vec<Record> {
        let mut table = Table::new("now()", [column("cost", "ns", 2)]);
        table.row("std", [vec![23.31]]);
        table.row("tach", [vec![8.47]]);
        vec![record("clocks-a", vec![table])]
    }

    #[test]
    fn a_document_like_its_record_passes() {
        let compared = compare("D.md", RIGHT, &records()).unwrap();
        assert_eq!(compared.differences, [""; 0]);
        assert_eq!(compared.filled, RIGHT);
        assert_eq!(compared.quoted, ["clocks-a", "clocks-a"]);
        assert_eq!(unquoted(&records(), &compared.quoted), [""; 0]);
    }

    #[test]
    fn a_changed_figure_fails_with_its_place_and_both_values() {
        for (from, to, expected) in [
            (
                "| 23.31 |",
                "| 13.31 |",
                "D.md:7: \"| std | 13.31 |\" is in the document, \"| std | 23.31 |\" in the record \
                 clocks-a",
            ),
            (
                "-->8.47",
                "-->8.4",
                "D.md:13: \"8.4\" is in the document, \"8.47\" in the record clocks-a",
            ),
            (
                "| **tach** | 8.47 |\n",
                "",
                "D.md:8: \"\" is in the document, \"| **tach** | 8.47 |\" in the record clocks-a",
            ),
        ] {
            let compared = compare("D.md", &RIGHT.replace(from, to), &records()).unwrap();
            assert_eq!(compared.differences, [expected]);
            assert_eq!(compared.filled, RIGHT);
        }
    }

    #[test]
    fn a_figure_in_a_cell_has_escaped_bars() {
        let text =
            "| a read | <!-- record clocks-a \\| now() \\| std \\| cost --><!-- end --> ns |";
        let compared = compare("D.md", text, &records()).unwrap();
        assert_eq!(compared.filled, text.replace("--><!--", "-->23.31<!--"));
    }

    #[test]
    fn an_empty_quotation_is_filled() {
        let (start, end) = RIGHT.split_once("| now() | cost").unwrap();
        let (_, end) = end.split_once("8.47 |\n\n").unwrap();
        let empty = format!("{}\n{end}", start.trim_end());
        let compared = compare("D.md", &empty, &records()).unwrap();
        assert_eq!(compared.filled, RIGHT);
        let header = "| now() | cost, ns |";
        let expected =
            format!("D.md:4: \"\" is in the document, \"{header}\" in the record clocks-a");
        assert_eq!(compared.differences, [expected]);
    }

    #[test]
    fn a_quotation_that_can_not_be_found_has_a_place() {
        let problem = |text: &str| compare("D.md", text, &records()).unwrap_err();
        for (text, expected) in [
            ("<!-- record b | now() --><!-- end -->", "D.md:1: there is no record \"b\""),
            ("<!-- record clocks-a --><!-- end -->", "D.md:1: clocks-a has no table \"\""),
            (
                "\n<!-- record clocks-a | now() | std --><!-- end -->",
                "D.md:2: \"clocks-a | now() | std\" names no table, row and column",
            ),
            (
                "<!-- record clocks-a | now() | std | p50 --><!-- end -->",
                "D.md:1: now() of clocks-a has no \"std | p50\"",
            ),
            ("\n<!-- record clocks-a | now() -->", "D.md:2: a quotation without \"<!-- end -->\""),
            (
                "<!-- record clocks-a | now() --> <!-- record clocks-a | now() --><!-- end -->",
                "D.md:1: a quotation without \"<!-- end -->\"",
            ),
            (
                "a\n<!-- record clocks-a | now() | std | cost -->23.31<!-- end -->",
                "D.md:2: a quoted figure may not begin a line",
            ),
        ] {
            assert_eq!(problem(text), expected);
        }
    }

    #[test]
    fn a_record_that_no_document_quotes_is_named() {
        let problems = unquoted(&records(), &["clocks-b".to_owned()]);
        assert_eq!(problems, ["no document quotes benches/records/clocks-a.json"]);
    }

    #[test]
    fn the_documents_are_like_the_records() {
        check_all(&super::super::record::all().unwrap()).unwrap();
    }
}
