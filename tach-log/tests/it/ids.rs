//! The ids of the span around an event, in each format.

use std::io;

use log::Level;
use tach_core::UnixTime;
use tach_log::adapter::{EachField, Fields, Parts, Site, event};
use tach_log::{Event, Format, Json, Line, Logfmt, Part, Value};

const TRACE: u128 = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;
const SPAN: u64 = 0x00f0_67aa_0ba9_02b7;
const IDS: (&str, &str) = ("0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7");

struct Own(&'static [(&'static str, &'static str)]);

impl Fields for Own {
    fn visit(&self, each: EachField<'_>) -> io::Result<()> {
        self.0.iter().try_for_each(|(key, value)| each(key, Value::Str(value)))
    }
}

/// Calls `f` with an event that has these fields and the ids of a span.
fn with_event<R>(
    fields: &'static [(&'static str, &'static str)],
    context: Option<(u128, u64, u8)>,
    f: impl FnOnce(&Event<'_>) -> R,
) -> R {
    f(&event(Parts {
        time: UnixTime::EPOCH,
        level: Level::Info,
        level_name: "INFO",
        target: "app",
        message: "done",
        fields: &Own(fields),
        has_spans: false,
        site: Site { trace_context: context, ..Site::default() },
        is_line: false,
        shows_colors: false,
    }))
}

fn line(format: &impl Format, fields: &'static [(&'static str, &'static str)]) -> String {
    with_event(fields, Some((TRACE, SPAN, 1)), |event| {
        let mut line = Vec::new();
        format.write(event, &mut line).unwrap();
        String::from_utf8(line).unwrap()
    })
}

fn object(format: &Json, fields: &'static [(&'static str, &'static str)]) -> serde_json::Value {
    serde_json::from_str(&line(format, fields)).unwrap()
}

const TIME: &str = "1970-01-01T00:00:00.000000Z";

#[test]
fn every_default_format_has_them() {
    let (trace, span) = IDS;
    let ids = format!("trace_id={trace} span_id={span}");
    let json = format!(r#""trace_id":"{trace}","span_id":"{span}","a":"b"}}"#);
    assert!(line(&Json::new(), &[("a", "b")]).ends_with(&(json.clone() + "\n")));
    assert!(line(&Json::new().digits(6), &[("a", "b")]).ends_with(&(json + "\n")));
    for logfmt in [Logfmt::new(), Logfmt::new().digits(6)] {
        let expected = format!("ts={TIME} level=INFO target=app msg=\"done\" {ids} a=b\n");
        assert_eq!(line(&logfmt, &[("a", "b")]), expected);
    }
    let expected = format!("{TIME} INFO  app: done a=b {ids}\n");
    assert_eq!(line(&Line::new(), &[("a", "b")]), expected);
    let expected = format!("00:00:00.000 INFO  done {ids} [app]\n");
    assert_eq!(line(&Line::compact().ids(), &[]), expected);
    let expected = format!("{TIME}  INFO app: done {ids}\n");
    assert_eq!(line(&Line::tracing().ids(), &[]), expected);
    assert_eq!(line(&Line::tracing_compact().ids(), &[]), expected);
    let bunyan = object(&Json::bunyan("app", "host"), &[]);
    assert_eq!((&bunyan["trace_id"], &bunyan["span_id"]), (&trace.into(), &span.into()));
}

#[test]
fn they_can_be_left_out_renamed_and_added() {
    let without = |text: &str| assert!(!text.contains("_id"), "{text}");
    without(&line(&Line::new().without_ids(), &[]));
    without(&line(&Line::compact(), &[]));
    without(&line(&Line::tracing(), &[]));
    without(&line(&Line::tracing_compact(), &[]));
    without(&line(&Json::new().without("trace_id").without("span_id"), &[]));
    without(&line(&Logfmt::new().without("trace_id").without("span_id"), &[]));
    without(&line(&Json::empty(), &[]));
    let one = object(&Json::new().without("span_id").with("trace", Part::TraceId), &[]);
    assert_eq!((&one["trace"], one.get("span_id")), (&IDS.0.into(), None));
    let added = line(&Logfmt::empty().with("s", Part::SpanId), &[]);
    assert_eq!(added, format!("s={}\n", IDS.1));
}

/// Nothing changes for an event outside spans.
#[test]
fn an_event_without_ids_has_none() {
    let text = |format: &dyn Format| {
        with_event(&[("a", "b")], None, |event| {
            assert_eq!(
                (event.trace_id(), event.span_id(), event.is_sampled()),
                (None, None, false)
            );
            let mut line = Vec::new();
            format.write(event, &mut line).unwrap();
            String::from_utf8(line).unwrap()
        })
    };
    let json = format!(r#"{{"ts":"{TIME}","level":"INFO","target":"app","msg":"done","a":"b"}}"#);
    assert_eq!(text(&Json::new()), json.clone() + "\n");
    assert_eq!(text(&Json::new().digits(6)), json + "\n");
    assert_eq!(text(&Line::new()), format!("{TIME} INFO  app: done a=b\n"));
    for format in [Json::ecs(), Json::google_cloud(), Json::datadog()] {
        let line = text(&format);
        assert!(!line.contains("trace") && !line.contains("pan"), "{line}");
    }
}

#[test]
fn a_format_of_one_s_own_gets_them() {
    with_event(&[], Some((TRACE, SPAN, 1)), |event| {
        assert_eq!((event.trace_id(), event.span_id()), (Some(TRACE), Some(SPAN)));
        assert!(event.is_sampled());
    });
    with_event(&[], Some((TRACE, SPAN, 2)), |event| assert!(!event.is_sampled()));
}

/// A field of a library that logs ids itself. The pair stays whole: an id of the program's beside
/// one of tach's would name a span that does not exist.
#[test]
fn a_field_with_the_key_of_an_id_gets_another_name() {
    type Fields = &'static [(&'static str, &'static str)];
    let cases: [(Fields, &str); 2] =
        [(&[("trace_id", "own")], "trace_id_"), (&[("span_id", "own")], "span_id_")];
    for (fields, key) in cases {
        for json in [Json::new(), Json::new().digits(6), Json::bunyan("app", "host")] {
            let object = object(&json, fields);
            assert_eq!((&object["trace_id"], &object["span_id"]), (&IDS.0.into(), &IDS.1.into()));
            assert_eq!(object[key], "own");
        }
        let texts = [
            line(&Logfmt::new(), fields),
            line(&Logfmt::new().digits(6), fields),
            line(&Line::new(), fields),
            line(&Line::compact().ids(), fields),
            line(&Line::tracing().ids(), fields),
        ];
        for text in texts {
            assert!(text.contains(&format!("trace_id={} span_id={}", IDS.0, IDS.1)), "{text}");
            assert_eq!(text.replace('"', "").matches(&format!(" {key}=own")).count(), 1, "{text}");
        }
    }
    let ecs = object(&Json::ecs(), &[("trace_id", "own")]);
    assert_eq!((&ecs["trace.id"], &ecs["labels.trace_id"]), (&IDS.0.into(), &"own".into()));
    let google = object(&Json::google_cloud(), &[("span_id", "own")]);
    assert_eq!(google["logging.googleapis.com/spanId"], IDS.1);
    assert_eq!(google["span_id"], "own");
    for text in [
        line(&Logfmt::new(), &[("trace id", "own")]),
        line(&Logfmt::new().digits(6), &[("trace id", "own")]),
        line(&Line::new(), &[("trace id", "own")]),
    ] {
        assert!(text.contains(&format!("trace_id={} ", IDS.0)), "{text}");
        assert!(text.contains(" trace_id_=own"), "{text}");
    }
    let moved = Json::new().rename("trace_id", "upstream");
    let renamed = object(&moved, &[("trace_id", "own")]);
    assert_eq!((&renamed["trace_id"], &renamed["upstream"]), (&IDS.0.into(), &"own".into()));
    assert!(moved.faults().is_empty());
    // The text for older agents of Google Cloud.
    let trace = "logging.googleapis.com/trace";
    let older = Json::google_cloud().without(trace).rename("trace_id", trace);
    let older = object(&older, &[("trace_id", "projects/shop/traces/1")]);
    assert_eq!(
        (&older[trace], &older["logging.googleapis.com/spanId"]),
        (&"projects/shop/traces/1".into(), &IDS.1.into())
    );
    let faults = Json::new().rename("request", "trace_id").faults();
    assert!(faults.len() == 1 && faults[0].contains("the key of a part"), "{faults:?}");
}

/// Libraries for axum record the ids of the span as fields too.
#[test]
fn a_field_that_repeats_an_id_is_left_out() {
    let fields = &[
        ("trace_id", "0af7651916cd43dd8448eb211c80319c"),
        ("span_id", "00f067aa0ba902b7"),
        ("a", "b"),
    ];
    for json in [Json::new(), Json::new().digits(6), Json::ecs(), Json::google_cloud()] {
        assert_eq!(object(&json, fields), object(&json, &[("a", "b")]));
    }
    for format in [Line::new(), Line::compact().ids(), Line::tracing().ids()] {
        assert_eq!(line(&format, fields), line(&format, &[("a", "b")]));
    }
    for format in [Logfmt::new(), Logfmt::new().digits(6)] {
        assert_eq!(line(&format, fields), line(&format, &[("a", "b")]));
    }
    // If the layout lacks the id, only the field contains it.
    let without = object(&Json::new().without("trace_id").without("span_id"), fields);
    assert_eq!(without["trace_id"], IDS.0);
}

#[test]
fn services_get_them_under_their_names() {
    let (trace, span) = IDS;
    let ecs = object(&Json::ecs(), &[]);
    assert_eq!((&ecs["trace.id"], &ecs["span.id"]), (&trace.into(), &span.into()));
    let google = object(&Json::google_cloud(), &[]);
    assert_eq!(google["logging.googleapis.com/trace"], trace);
    assert_eq!(google["logging.googleapis.com/spanId"], span);
    assert_eq!(google["logging.googleapis.com/trace_sampled"], true);
    let datadog = object(&Json::datadog(), &[]);
    assert_eq!(datadog["dd.trace_id"], 0x8448_eb21_1c80_319c_u64.to_string());
    assert_eq!(datadog["dd.span_id"], SPAN.to_string());
}
