//! Configurations that can't work, and the error that says what would.

use core::time::Duration;
use std::fs;
use std::io;
use std::path::Path;

use tach_pipeline::{Builder, Pipeline, Rotation, Sink};

use crate::support::Folder;

/// Builds a pipeline, and returns the messages of its faults.
fn faults(builder: Builder) -> Vec<String> {
    match builder.build() {
        Ok(_) => Vec::new(),
        Err(error) => error.faults().iter().map(ToString::to_string).collect(),
    }
}

/// Asserts that the configuration has one fault, which names the call and what would be right.
#[track_caller]
fn assert_refused(builder: Builder, call: &str, wanted: &str) {
    let found = faults(builder);
    assert_eq!(found, [format!("can't use {call}: {wanted}")]);
}

#[track_caller]
fn assert_built(builder: Builder) {
    assert_eq!(faults(builder), [""; 0]);
}

/// A pipeline that prints nothing.
fn quiet() -> Builder {
    Pipeline::builder().sink(Sink::writer("nothing", std::io::sink()))
}

/// The records of other pipelines have numbers in place of texts already.
#[test]
fn texts_are_copied_from_the_first_pipeline_on() {
    assert_built(quiet());
    let wanted = "it is for the process; the first pipeline must have the option";
    assert_refused(quiet().copy_texts(), "Builder::copy_texts()", wanted);
}

#[test]
fn an_option_out_of_its_bounds_is_refused() {
    let queue = "a queue has 4096 (4 KiB) to 268435456 bytes (256 MiB)";
    let nap = "a nap is longer than zero and lasts a second at most";
    let hour = Duration::from_secs(3600);
    let cases: [(Builder, &str, &str); 13] = [
        (quiet().queue_bytes(1), "Builder::queue_bytes(1)", queue),
        (quiet().queue_bytes(268_435_457), "Builder::queue_bytes(268435457)", queue),
        (quiet().flush_interval(hour), "Builder::flush_interval(3600s)", nap),
        (quiet().flush_interval(Duration::ZERO), "Builder::flush_interval(0ns)", nap),
        (
            quiet().max_record_bytes(0),
            "Builder::max_record_bytes(0)",
            "a record has 256 bytes or more",
        ),
        (
            quiet().max_record_bytes(255),
            "Builder::max_record_bytes(255)",
            "a record has 256 bytes or more",
        ),
        (quiet().redact(["key", ""]), "Builder::redact([\"\"])", "a field has a key"),
        (
            quiet().filter_from_env("RUST_LOG=info"),
            "Builder::filter_from_env(\"RUST_LOG=info\")",
            "a variable has a name, such as RUST_LOG",
        ),
        (
            quiet().filter_from_env(""),
            "Builder::filter_from_env(\"\")",
            "a variable has a name, such as RUST_LOG",
        ),
        (
            quiet().before_errors("debug", 0),
            "Builder::before_errors(\"debug\", 0)",
            "one record or more is kept",
        ),
        (
            quiet().then_each(10),
            "Builder::then_each(10)",
            "of the records over a rate_limit, one in so many is logged",
        ),
        (
            quiet().rate_limit(0),
            "Builder::rate_limit(0)",
            "one record or more is logged; the filter \"off\" drops all",
        ),
        (
            quiet().sink(Sink::writer("small", Vec::new()).buffer_bytes(65_535)),
            "Sink::buffer_bytes(65535) for small",
            "a buffer has 65536 bytes (64 KiB) or more, as many as are written at once",
        ),
    ];
    for (builder, call, wanted) in cases {
        assert_refused(builder, call, wanted);
    }
    // The bounds themselves can be used, and the last call counts.
    assert_built(quiet().queue_bytes(1).queue_bytes(4096));
    assert_built(quiet().queue_bytes(256 * 1024 * 1024));
    assert_built(quiet().flush_interval(Duration::from_secs(1)).max_record_bytes(256));
    assert_built(quiet().flush_interval(Duration::from_nanos(1)).rate_limit(1));
    assert_built(quiet().sink(Sink::writer("small", Vec::new()).buffer_bytes(65_536)));
}

#[test]
fn a_file_s_options_must_work() {
    let folder = Folder::new("refused-file");
    let path = folder.path("app.log");
    let shown = path.display();
    let rotated = |rotation| quiet().sink(Sink::file(&path).rotate(rotation));
    let trigger = "a rotation has a size or a time: call Rotation::max_bytes, hourly, daily or \
         at_start";
    for rotation in [Rotation::new(), Rotation::new().keep(3)] {
        let call = format!("Sink::file(\"{shown}\").rotate(Rotation::new())");
        assert_refused(rotated(rotation), &call, trigger);
    }
    let call = format!("Sink::file(\"{shown}\").rotate(Rotation::new().max_bytes(65535))");
    let wanted = "a file has 65536 bytes (64 KiB) or more, since as many are written at once";
    assert_refused(rotated(Rotation::new().max_bytes(65_535)), &call, wanted);
    assert_built(rotated(Rotation::new().max_bytes(65_536)));
    let kept = Rotation::new().max_bytes(65_536).keep_bytes(65_535);
    let call = "rotate(Rotation::new().max_bytes(65536).keep_bytes(65535))";
    let wanted = "old files of fewer bytes than one file has are kept only if they are compressed";
    assert_refused(rotated(kept), &format!("Sink::file(\"{shown}\").{call}"), wanted);
    assert_built(rotated(kept.keep_bytes(65_536)));
    let wanted = "a mode is octal, 0o777 at most, and lets the owner write, such as 0o640";
    // The first mode is decimal.
    for mode in [600, 0o440, 0o10_640] {
        let call = format!("Sink::file(\"{shown}\").mode({mode:#o})");
        assert_refused(quiet().sink(Sink::file(&path).mode(mode)), &call, wanted);
    }
    assert_built(quiet().sink(Sink::file(&path).mode(0o640)));
}

#[test]
fn a_file_that_is_rotated_has_one_sink() {
    let folder = Folder::new("refused-shared");
    let (path, other) = (folder.path("app.log"), folder.path("other.log"));
    let by_another_path = folder.path("../").join(path.parent().unwrap().file_name().unwrap());
    let again = by_another_path.join("app.log");
    let daily = |path: &Path| Sink::file(path).rotate(Rotation::new().daily());
    let wanted = "these are one file, and a rotated file has one sink; give each sink its own file";
    let mut same = vec![again];
    #[cfg(unix)]
    {
        fs::write(&path, "").unwrap();
        std::os::unix::fs::symlink("app.log", folder.path("link.log")).unwrap();
        fs::hard_link(&path, folder.path("second.log")).unwrap();
        same.extend([folder.path("link.log"), folder.path("second.log")]);
    }
    for second in same {
        let call = format!("Sink::rotate for {} and {}", path.display(), second.display());
        assert_refused(quiet().sink(daily(&path)).sink(daily(&second)), &call, wanted);
        // One that rotates is enough.
        assert_refused(quiet().sink(daily(&path)).sink(Sink::file(&second)), &call, wanted);
        assert_refused(quiet().sink(Sink::file(&path)).sink(daily(&second)), &call, wanted);
        assert_built(quiet().sink(Sink::file(&path)).sink(Sink::file(&second)));
    }
    assert_built(quiet().sink(daily(&path)).sink(daily(&other)));
}

#[test]
fn an_error_of_io_has_the_kind_of_the_system_s() {
    let of = |builder: Builder| io::Error::from(builder.build().unwrap_err());
    let folder = Folder::new("refused-io");
    let of_folder = of(quiet().sink(Sink::file(folder.path(""))));
    assert_eq!(of_folder.kind(), io::ErrorKind::IsADirectory, "{of_folder}");
    assert!(of_folder.get_ref().unwrap().is::<tach_pipeline::Error>());
    // A file's error beside an option's says more.
    let of_both = of(quiet().filter("app=loud").sink(Sink::file(folder.path(""))));
    assert_eq!(of_both.kind(), io::ErrorKind::IsADirectory, "{of_both}");
    let of_filter = of(quiet().filter(format!("{}=loud", "app")));
    assert_eq!(of_filter.kind(), io::ErrorKind::InvalidInput, "{of_filter}");
}

#[test]
fn all_faults_are_named_at_once() {
    let folder = Folder::new("refused-all");
    fs::write(folder.path("taken"), "").unwrap();
    let below = folder.path("taken").join("app.log");
    let build = || {
        quiet()
            .filter("app=loud")
            .queue_bytes(1)
            .sink(Sink::file(&below).rotate(Rotation::new()))
            .sink(Sink::writer("memory", Vec::new()).filter("a=b=c"))
    };
    let error = build().build().unwrap_err();
    let lines: Vec<_> = error.to_string().lines().map(str::to_owned).collect();
    let starts = [
        "the pipeline's configuration has 5 faults:".to_owned(),
        "- can't use Builder::queue_bytes(1): ".to_owned(),
        "- can't parse the filter \"app=loud\": ".to_owned(),
        format!("- can't use Sink::file(\"{}\").rotate(Rotation::new()): ", below.display()),
        format!("- can't append to the log file {}: ", below.display()),
        "- can't parse the filter \"a=b=c\" of the sink memory: ".to_owned(),
    ];
    assert_eq!(lines.len(), starts.len(), "{error}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(&start), "{line}");
    }
    assert!(error.is_option() && error.is_open());
    assert!(!error.is_already_set() && !error.is_timeout() && !error.is_sink());
    assert_eq!(error.faults().len(), 5);
    assert!(error.faults().iter().all(|fault| fault.faults().len() == 1));
}

#[cfg(feature = "tracing")]
#[test]
fn a_flight_recorder_s_options_must_work() {
    use tach_pipeline::{Durations, FlightFormat, FlightRecorder};

    let folder = Folder::new("refused-recorder");
    let folder = folder.path("made");
    let recorder = FlightRecorder::new;
    let wanted_bytes = "it takes 65536 bytes (64 KiB) or more";
    let cases: [(FlightRecorder, &str, &str); 4] = [
        (recorder().max_bytes(65_535), "FlightRecorder::max_bytes(65535)", wanted_bytes),
        (
            recorder().max_age(Duration::ZERO),
            "FlightRecorder::max_age(0ns)",
            "an age is longer than zero",
        ),
        (
            recorder().keep(0),
            "FlightRecorder::keep(0)",
            "the file that is written is kept, so it is 1 or more",
        ),
        (
            recorder()
                .folder(&folder, FlightFormat::trace_events())
                .span_slower_than("", Duration::ZERO),
            "FlightRecorder::span_slower_than(\"\", 0ns)",
            "a span has a name",
        ),
    ];
    for (recorder, call, wanted) in cases {
        assert_refused(quiet().flight_recorder(recorder), call, wanted);
    }
    let call = format!("FlightRecorder::folder(\"{}\", ..)", folder.display());
    let wanted = "no file is written there; say when by on_panic, slower_than or span_slower_than";
    assert_refused(
        quiet().flight_recorder(recorder().folder(&folder, FlightFormat::trace_events())),
        &call,
        wanted,
    );
    assert_refused(
        quiet()
            .flight_recorder(recorder().folder(&folder, FlightFormat::trace_events()).on_panic())
            .flush_timeout(Duration::ZERO),
        "FlightRecorder::on_panic()",
        "the back end needs some time, so flush_timeout isn't zero",
    );
    assert_built(quiet().flight_recorder(recorder().max_bytes(65_536)));

    let beyond = "there are two or more: one of them is for all spans beyond";
    for (durations, call, wanted) in [
        (Durations::new().attribute(""), "Durations::attribute(\"\")", "a field has a key"),
        (Durations::new().max_series(1), "Durations::max_series(1)", beyond),
    ] {
        assert_refused(quiet().durations(durations), call, wanted);
    }
    assert_built(quiet().durations(Durations::new().max_series(2)));
}

/// No file can be made in this folder, not even by root.
#[cfg(all(target_os = "linux", feature = "tracing"))]
#[test]
fn a_flight_recorder_s_folder_is_tried_when_the_pipeline_is_built() {
    use tach_pipeline::{FlightFormat, FlightRecorder};

    let recorder =
        FlightRecorder::new().folder("/proc/self/task", FlightFormat::trace_events()).on_panic();
    let found = faults(quiet().flight_recorder(recorder));
    let start = "can't write the flight recorder's files to the folder /proc/self/task: ";
    assert!(found.len() == 1 && found[0].starts_with(start), "{found:?}");
    // Nothing is left in a folder that can be written. This recorder has no `on_panic`: other tests
    // panic, and it must not write a file for that.
    let folder = Folder::new("refused-flight");
    let recorder = FlightRecorder::new()
        .folder(folder.path("made"), FlightFormat::trace_events())
        .slower_than(Duration::MAX);
    assert_built(quiet().flight_recorder(recorder));
    assert_eq!(fs::read_dir(folder.path("made")).unwrap().count(), 0);
}

#[cfg(feature = "otlp")]
#[test]
fn options_of_spans_must_work_and_need_a_sink_of_spans() {
    use tach_pipeline::{FlightRecorder, Otlp, Sampling, Tail};

    let with_spans = || {
        quiet().sink(Sink::otlp(
            Otlp::new().endpoint("http://localhost:1").signals([tach_pipeline::Signal::Traces]),
        ))
    };
    let nobody = "no sink takes spans; add one that does, Sink::otlp";
    assert_refused(quiet().tail(Tail::ratio(0.5)), "Builder::tail", nobody);
    assert_refused(quiet().sampling(Sampling::ratio(0.5)), "Builder::sampling", nobody);
    assert_refused(quiet().unfinished_spans(), "Builder::unfinished_spans", nobody);
    // A flight recorder keeps the spans that these leave out.
    let recorder = || quiet().flight_recorder(FlightRecorder::new());
    assert_refused(recorder().sampling(Sampling::ratio(0.5)), "Builder::sampling", nobody);
    assert_built(with_spans().tail(Tail::ratio(0.5)).sampling(Sampling::ratio(1.0)));
    assert_built(with_spans().unfinished_spans());

    let ratio = "a ratio is from 0 to 1";
    let all = || Tail::ratio(1.0);
    for (tail, call, wanted) in [
        (Tail::ratio(7.0), "Tail::ratio(7.0)", ratio),
        (Tail::ratio(-0.1), "Tail::ratio(-0.1)", ratio),
        (
            all().max_bytes(65_535),
            "Tail::max_bytes(65535)",
            "65536 bytes (64 KiB) or more may wait",
        ),
        (all().max_delay(Duration::ZERO), "Tail::max_delay(0ns)", "a delay is longer than zero"),
        (
            all().span_slower_than("", Duration::MAX),
            "Tail::span_slower_than(\"\", 18446744073709551615.999999999s)",
            "a span has a name",
        ),
    ] {
        assert_refused(with_spans().tail(tail), call, wanted);
    }
    for (sampling, call, wanted) in [
        (Sampling::ratio(f64::NAN), "Sampling::ratio(NaN)", ratio),
        (
            Sampling::ratio(0.5).ignore_parents().skip_children(),
            "Sampling::skip_children()",
            "with ignore_parents each span has a decision of its own",
        ),
        (Sampling::ratio(1.01), "Sampling::ratio(1.01)", ratio),
        (Sampling::ratio(1.0).target("app", 2.0), "Sampling::target(\"app\", 2.0)", ratio),
        (Sampling::ratio(1.0).span("a", f64::INFINITY), "Sampling::span(\"a\", inf)", ratio),
        (Sampling::ratio(1.0).span("", 0.5), "Sampling::span(\"\", ..)", "a span has a name"),
    ] {
        assert_refused(with_spans().sampling(sampling), call, wanted);
    }
}

#[test]
fn a_writer_has_a_name() {
    let sink = Sink::writer("", Vec::new());
    assert_refused(
        quiet().sink(sink),
        "Sink::writer(\"\", ..)",
        "messages call the writer by its name",
    );
}

#[cfg(feature = "syslog")]
#[test]
fn a_syslog_daemon_has_an_address_and_names() {
    use tach_pipeline::Syslog;

    let address = "an address is host:port, such as localhost:514, or [::1]:514";
    let name = "a name is not empty; without the call it is found out";
    let udp = || Syslog::udp("localhost:514");
    for (syslog, call, wanted) in [
        (Syslog::udp("logs.example.com"), "Syslog::udp(\"logs.example.com\")", address),
        (Syslog::tcp(":601"), "Syslog::tcp(\":601\")", address),
        (Syslog::tcp("localhost:0"), "Syslog::tcp(\"localhost:0\")", address),
        (Syslog::tcp("localhost:65536"), "Syslog::tcp(\"localhost:65536\")", address),
        (udp().app_name(""), "Syslog::app_name(\"\")", name),
        (udp().host_name(""), "Syslog::host_name(\"\")", name),
        (
            udp().rfc3164().host_name("a"),
            "Syslog::host_name(\"a\")",
            "RFC 3164 has no host here; call Syslog::rfc5424",
        ),
        (
            udp().lf_framing(),
            "Syslog::lf_framing()",
            "each datagram is one message; only Syslog::tcp has a framing",
        ),
    ] {
        // The faults are kept although the conversion drops the kind.
        let sink: Sink = Sink::syslog(syslog).into();
        assert_refused(quiet().sink(sink), call, wanted);
    }
    for syslog in [udp(), Syslog::tcp("[::1]:601").host_name("a").lf_framing()] {
        assert_built(quiet().sink(Sink::syslog(syslog)));
    }
}
