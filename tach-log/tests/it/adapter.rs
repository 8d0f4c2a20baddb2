//! Events that tach's other crates make.

use std::io;

use log::Level;
use tach_core::UnixTime;
use tach_log::adapter::{Fields, Parts, Site, event, is_line};
use tach_log::{Event, Format, Json, Line, Logfmt, Value};

struct NoFields;

impl Fields for NoFields {
    fn visit(&self, _: &mut dyn FnMut(&str, Value<'_>) -> io::Result<()>) -> io::Result<()> {
        Ok(())
    }
}

fn parts(level_name: &'static str) -> Parts<'static> {
    Parts {
        time: UnixTime::EPOCH,
        level: Level::Info,
        level_name,
        target: "app",
        message: "two\nlines",
        fields: &NoFields,
        has_spans: false,
        site: Site::default(),
        is_line: false,
        shows_colors: false,
    }
}

fn written(format: &impl Format, event: &Event<'_>) -> String {
    let mut bytes = Vec::new();
    format.write(event, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_terminal_shows_a_faint_time_and_a_level_in_its_color() {
    let cases = [
        ("CRITICAL", "1;31", ""),
        ("ERROR", "31", ""),
        ("WARN", "33", " "),
        ("INFO", "32", " "),
        ("DEBUG", "34", ""),
        ("TRACE", "35", ""),
    ];
    for (name, color, space) in cases {
        let event = event(Parts { shows_colors: true, ..parts(name) });
        assert!(event.shows_colors());
        let line = written(&Line::new(), &event);
        let head =
            format!("\x1b[2m1970-01-01T00:00:00.000000Z\x1b[0m \x1b[{color}m{name}\x1b[0m{space}");
        assert_eq!(line, format!("{head} app: two\\nlines\n"));
    }
}

#[test]
fn a_line_made_by_another_formatter_is_unchanged() {
    let line = event(Parts { is_line: true, ..parts("INFO") });
    assert!(is_line(&line) && !is_line(&event(parts("INFO"))));
    assert_eq!(written(&Line::new(), &line), "two\nlines\n");
    assert_eq!(written(&Json::new(), &line), "two\nlines\n");
    assert_eq!(written(&Logfmt::new(), &line), "two\nlines\n");
}

#[test]
fn an_event_prints_its_parts_for_debugging() {
    assert_eq!(
        format!("{:?}", event(parts("INFO"))),
        "Event { time: UnixTime { nanos: 0 }, level: \"INFO\", target: \"app\", \
         message: \"two\\nlines\", .. }"
    );
}
