//! Events that tach's other crates make.

use std::io;

use log::Level;
use tach_core::UnixTime;
use tach_log::adapter::{EachField, EachSpan, Fields, Parts, Site, event, is_line};
use tach_log::{Event, Format, Json, Line, Logfmt, Part, Value};

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
        assert_eq!(line, format!("{head} \x1b[2mapp:\x1b[0m two\\nlines\n"));
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
        "Event { time: 1970-01-01T00:00:00.000000000Z, level: \"INFO\", target: \"app\", \
         message: \"two\\nlines\", .. }"
    );
}

/// The fields of a span.
struct OfSpan(&'static [(&'static str, i64)]);

impl Fields for OfSpan {
    fn visit(&self, each: EachField<'_>) -> io::Result<()> {
        self.0.iter().try_for_each(|&(key, value)| each(key, Value::I64(value)))
    }
}

/// The fields of an event within two spans.
struct Nested;

impl Nested {
    const OWN: OfSpan = OfSpan(&[("step", 1)]);
    const OUTER: OfSpan = OfSpan(&[("request", 7), ("name", 3), ("name_", 4)]);
}

impl Fields for Nested {
    fn visit(&self, each: EachField<'_>) -> io::Result<()> {
        Self::OWN.visit(each)?;
        Self::OUTER.visit(each)
    }

    fn visit_own(&self, each: EachField<'_>) -> io::Result<()> {
        Self::OWN.visit(each)
    }

    fn visit_spans(&self, each: EachSpan<'_>) -> io::Result<()> {
        each("outer", &Self::OUTER)?;
        each("inner", &OfSpan(&[]))
    }
}

fn own_keys(event: &Event<'_>) -> Vec<String> {
    let mut keys = Vec::new();
    let push = |key: &str, _: Value<'_>| {
        keys.push(key.to_owned());
        Ok(())
    };
    event.own_fields(push).unwrap();
    keys
}

#[test]
fn a_format_receives_each_span_with_its_fields() {
    let event = event(Parts { fields: &Nested, has_spans: true, ..parts("INFO") });
    let mut seen = Vec::new();
    event
        .spans(|span| {
            seen.push(format!("{span:?}"));
            span.fields(|key, value| {
                seen.push(format!("{} {key}={value:?}", span.name()));
                Ok(())
            })
        })
        .unwrap();
    let outer = "Span { name: \"outer\", .. }";
    let inner = "Span { name: \"inner\", .. }";
    assert_eq!(
        seen,
        [outer, "outer request=I64(7)", "outer name=I64(3)", "outer name_=I64(4)", inner]
    );
    assert_eq!(own_keys(&event), ["step"]);
}

#[test]
fn lines_name_the_spans_of_an_event() {
    let event = event(Parts { fields: &Nested, has_spans: true, ..parts("INFO") });
    let fields = "span=outer:inner step=1 request=7 name=3 name_=4\n";
    assert!(written(&Line::new(), &event).ends_with(&format!(" app: two\\nlines {fields}")));
    assert!(written(&Logfmt::new(), &event).ends_with(&format!(" msg=\"two\\nlines\" {fields}")));
    let fields = r#","span":"outer:inner","step":1,"request":7,"name":3,"name_":4}"#;
    assert!(written(&Json::new(), &event).trim_end().ends_with(fields));
    // Within a span, the key `name` is the span's.
    let fields = r#","spans":[{"name":"outer","request":7,"name_2":3,"name_":4},{"name":"inner"}],"step":1}"#;
    assert!(written(&Json::new().spans("spans"), &event).trim_end().ends_with(fields));
    let named = Json::empty().with("within", Part::SpanNames);
    assert!(written(&named, &event).starts_with(r#"{"within":"outer:inner","step":1,"#));
}

#[test]
fn a_line_leaves_the_fields_of_spans_out() {
    let event = event(Parts { fields: &Nested, has_spans: true, ..parts("INFO") });
    let cases = [
        (Line::new(), "INFO  app: two\\nlines span=outer:inner step=1\n"),
        (Line::compact(), "INFO  two\\nlines step=1 [app outer:inner]\n"),
        (Line::tracing(), " INFO outer:inner: app: two\\nlines step=1\n"),
        (Line::tracing_compact(), " INFO outer:inner: app: two\\nlines step=1\n"),
    ];
    for (line, expected) in cases {
        assert_eq!(written(&line.without_time().without_span_fields(), &event), expected);
    }
}

#[test]
fn without_own_fields_apart_all_are_the_events() {
    let event = event(Parts { fields: &Nested::OUTER, ..parts("INFO") });
    assert_eq!(own_keys(&event), ["request", "name", "name_"]);
}

/// A field, within two spans.
struct InSpans;

impl Fields for InSpans {
    fn visit(&self, each: EachField<'_>) -> io::Result<()> {
        each("k", Value::U64(1))
    }

    fn visit_spans(&self, each: EachSpan<'_>) -> io::Result<()> {
        each("outer", &NoFields)?;
        each("in\ner", &NoFields)
    }
}

#[test]
fn a_compact_line_ends_with_the_spans_and_dims_all_but_the_event() {
    let parts = Parts { fields: &InSpans, has_spans: true, ..parts("INFO") };
    let line = |parts| written(&Line::compact(), &event(parts));
    assert_eq!(line(parts), "00:00:00.000 INFO  two\\nlines k=1 [app outer:in\\ner]\n");
    let without_target = written(&Line::compact().without_target(), &event(parts));
    assert_eq!(without_target, "00:00:00.000 INFO  two\\nlines k=1 [outer:in\\ner]\n");
    let (faint, plain) = ("\u{1b}[2m", "\u{1b}[0m");
    let level = format!("\u{1b}[32mINFO{plain} ");
    let colored = format!(
        "{faint}00:00:00.000{plain} {level} two\\nlines {faint}k={plain}1 \
         {faint}[app outer:in\\ner]{plain}\n"
    );
    assert_eq!(line(Parts { shows_colors: true, ..parts }), colored);
}

#[test]
fn a_full_line_dims_the_keys_and_aligns_targets_beneath_the_colors() {
    let parts = Parts { fields: &InSpans, has_spans: true, ..parts("INFO") };
    let line = |format: Line, parts| written(&format, &event(parts));
    let format = Line::new().without_time();
    assert_eq!(line(format, parts), "INFO  app: two\\nlines span=\"outer:in\\ner\" k=1\n");
    let (faint, plain) = ("\u{1b}[2m", "\u{1b}[0m");
    let colored = |gap: &str| {
        format!(
            "\u{1b}[32mINFO{plain}  {faint}app:{plain}{gap} two\\nlines \
             {faint}span={plain}\"outer:in\\ner\" {faint}k={plain}1\n"
        )
    };
    let parts = Parts { shows_colors: true, ..parts };
    assert_eq!(line(format, parts), colored(""));
    assert_eq!(line(format.target_width(5), parts), colored("  "));
    // Characters are counted, not bytes.
    let parts = Parts { target: "größe", ..parts };
    assert!(line(format.target_width(6), parts).contains("größe:\u{1b}[0m  two"));
}
