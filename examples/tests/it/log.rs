//! The back ends of `log` print the same lines with tach's formats, except for target and time.

use crate::example;

/// The lines of an example, each split into its time and the rest.
struct Lines {
    stdout: Vec<(String, String)>,
    stderr: Vec<(String, String)>,
}

/// Runs an example. On stdout, `until_time` stands before the time of each line.
fn lines(name: &str, until_time: &str) -> Lines {
    let output = example(name).env_remove("RUST_LOG").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let split = |text: Vec<u8>, until_time: &str| {
        let text = String::from_utf8(text).unwrap();
        let lines = text.lines().map(|line| {
            let (time, rest) = line.strip_prefix(until_time).expect(line).split_once('Z').unwrap();
            (time.to_owned(), rest.to_owned())
        });
        lines.collect()
    };
    Lines { stdout: split(output.stdout, until_time), stderr: split(output.stderr, "") }
}

fn rests(lines: &[(String, String)]) -> Vec<&str> {
    lines.iter().map(|(_, rest)| rest.as_str()).collect()
}

#[test]
fn text_and_json_have_one_time() {
    for name in ["env_logger", "fern", "log4rs"] {
        let Lines { stdout, stderr } = lines(name, r#"{"ts":""#);
        assert_eq!(
            rests(&stderr),
            [
                format!(" INFO  {name}: ready port=3000"),
                format!(r#" WARN  {name}: two\nlines by="ada l.""#),
            ]
        );
        assert_eq!(
            rests(&stdout),
            [
                format!(r#"","level":"INFO","target":"{name}","msg":"ready","port":3000}}"#),
                format!(r#"","level":"WARN","target":"{name}","msg":"two\nlines","by":"ada l."}}"#),
            ]
        );
        for ((text, _), (json, _)) in stderr.iter().zip(&stdout) {
            assert_eq!(text, json, "{name}");
        }
    }
}

#[test]
fn flexi_logger_writes_logfmt() {
    let Lines { stdout, .. } = lines("flexi_logger", "ts=");
    assert_eq!(
        rests(&stdout),
        [
            r#" level=INFO target=flexi_logger msg="ready" port=3000"#,
            r#" level=WARN target=flexi_logger msg="two\nlines" by="ada l.""#,
        ]
    );
}
