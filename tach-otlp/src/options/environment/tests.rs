//! The tests of the variables and of the options that they set.

use super::*;
use crate::encode::limits::{AttributeLimits, SpanLimits};
use crate::encode::metadata::Shown;
use crate::rejection::Rejection;

fn options(variables: &[(&str, &str)]) -> Otlp {
    apply(Otlp::new(), |name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.into())
    })
}

/// Returns why requests of the signal fail, without a request: by an option of the program's, or by
/// a variable without which nothing can be sent.
fn failure(options: &Otlp, signal: Signal) -> Option<String> {
    match options.clone().signals([signal]).exporter() {
        Err(error) => Some(error.to_string()),
        Ok(mut exporter) if exporter.is_unusable(signal) => match exporter.send(signal, &[]) {
            Err(Rejection::Never { count: None, reason }) => Some(reason),
            other => panic!("{other:?}"),
        },
        Ok(_) => None,
    }
}

/// Returns the messages about the variables that can't be used.
fn ignored(options: &Otlp) -> Vec<String> {
    options.ignored_variables().iter().map(ToString::to_string).collect()
}

fn has(options: &Otlp, key: &str, value: &str) -> bool {
    let with = Otlp::new().attribute(key, value);
    options.attributes.contains(with.attributes.last().unwrap())
}

#[test]
fn each_variable_sets_its_option() {
    let set = options(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key = a%20b ,other=c,"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", " 250 "),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        ("OTEL_BLRP_SCHEDULE_DELAY", "20"),
        ("OTEL_BSP_SCHEDULE_DELAY", "30"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=from%2Clist,host.name=box"),
    ]);
    assert_eq!(set.requests(Signal::Logs).url().expose(), "http://collector:4318/v1/logs");
    assert_eq!(set.requests(Signal::Traces).url().expose(), "http://collector:4318/v1/traces");
    let headers = [("x-key", "a b"), ("other", "c")];
    for requests in [&set.requests(Signal::Logs), &set.requests(Signal::Traces)] {
        let expected = headers.map(|(name, value)| (name.to_owned(), Secret::new(value)));
        assert_eq!(requests.headers, expected);
        assert_eq!(requests.compression, Compression::Gzip);
        assert_eq!((requests.timeout.as_millis(), requests.ignored.len()), (250, 0));
    }
    assert_eq!(
        (
            set.requests(Signal::Logs).max_delay.as_millis(),
            set.requests(Signal::Traces).max_delay.as_millis()
        ),
        (20, 30)
    );
    assert!(has(&set, "service.name", "from,list") && has(&set, "host.name", "box"));
    assert_eq!(set.ignored_variables(), []);
}

#[test]
fn the_more_specific_variable_takes_precedence() {
    let set = options(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://other:4318"),
        ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://logs:1/as/is"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "http/protobuf"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", "none"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=list"),
        ("OTEL_SERVICE_NAME", "own"),
    ]);
    assert_eq!(set.requests(Signal::Logs).url().expose(), "http://logs:1/as/is");
    assert_eq!(set.requests(Signal::Traces).url().expose(), "http://other:4318/v1/traces");
    assert_eq!(set.requests(Signal::Logs).compression, Compression::None);
    assert_eq!(set.requests(Signal::Traces).compression, Compression::Gzip);
    assert!(has(&set, "service.name", "own"));
    let ignored = ignored(&set);
    assert!(ignored.len() == 1 && ignored[0].contains("http/json"), "{ignored:?}");
    assert_eq!(set.requests(Signal::Traces).protocol, Protocol::HttpProtobuf);
}

#[test]
fn the_more_specific_limit_takes_precedence() {
    let set =
        options(&[("OTEL_ATTRIBUTE_COUNT_LIMIT", "1"), ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "2")]);
    let attributes = AttributeLimits { count: 1, length: 2 };
    assert_eq!(set.limits.records, attributes);
    let expected =
        SpanLimits { attributes, event_attributes: 1, link_attributes: 1, ..SpanLimits::default() };
    assert_eq!(set.limits.spans, expected);
    assert_eq!((expected.events, expected.links), (128, 128));
    let set = options(&[
        ("OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT", "10"),
        ("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", "9"),
        ("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", "8"),
        ("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "7"),
        ("OTEL_SPAN_LINK_COUNT_LIMIT", "6"),
        ("OTEL_SPAN_EVENT_COUNT_LIMIT", "5"),
        ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "4"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "3"),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "2"),
        ("OTEL_ATTRIBUTE_COUNT_LIMIT", "1"),
    ]);
    assert_eq!(set.limits.records, AttributeLimits { count: 9, length: 10 });
    let expected = SpanLimits {
        attributes: AttributeLimits { count: 3, length: 4 },
        events: 5,
        has_events: true,
        shown: Shown::default(),
        links: 6,
        event_attributes: 7,
        link_attributes: 8,
    };
    assert_eq!((set.limits.spans, set.ignored.len()), (expected, 0));
}

#[test]
fn metrics_have_variables_of_their_own() {
    let all = [("Delta", Temporality::Delta), ("lowmemory", Temporality::Delta)];
    for (name, temporality) in all.into_iter().chain([("CUMULATIVE", Temporality::Cumulative)]) {
        let set = options(&[
            (TEMPORALITY, name),
            ("OTEL_METRIC_EXPORT_INTERVAL", "5000"),
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://metrics:1/as/is"),
            ("OTEL_BSP_SCHEDULE_DELAY", "30"),
        ]);
        assert_eq!(set.requests(Signal::Metrics).url().expose(), "http://metrics:1/as/is");
        assert_eq!(
            (set.temporality, set.requests(Signal::Metrics).max_delay.as_millis()),
            (temporality, 5000)
        );
        let exporter = set.exporter().unwrap();
        assert_eq!(exporter.max_delay(Signal::Metrics), Duration::from_secs(5));
    }
    let default = options(&[]);
    assert_eq!(
        (default.temporality, default.requests(Signal::Metrics).max_delay.as_secs()),
        (Temporality::Cumulative, 60)
    );
}

#[test]
fn an_empty_variable_is_unset() {
    let set = options(&[("OTEL_EXPORTER_OTLP_TIMEOUT", ""), ("OTEL_SERVICE_NAME", "")]);
    assert_eq!(
        (set.requests(Signal::Logs).timeout, set.ignored_variables().len()),
        (Otlp::new().requests(Signal::Logs).timeout, 0)
    );
    assert_eq!(set.attributes, Otlp::new().attributes);
}

#[test]
fn a_variable_that_can_t_be_used_is_ignored_and_named() {
    for (name, value) in [
        ("OTEL_SDK_DISABLED", "yes"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "-1"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_BLRP_SCHEDULE_DELAY", "soon"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
        (TEMPORALITY, "both"),
        ("OTEL_SPAN_LINK_COUNT_LIMIT", "-1"),
        ("OTEL_RESOURCE_ATTRIBUTES", "host"),
        ("OTEL_RESOURCE_ATTRIBUTES", "host=%ff"),
    ] {
        let set = options(&[(name, value)]);
        let ignored = ignored(&set);
        assert!(ignored.len() == 1 && ignored[0].contains(name), "{ignored:?}");
        assert!(ignored[0].contains(value), "{ignored:?}");
        for signal in Signal::ALL {
            assert_eq!(failure(&set, signal), None);
            let default = Otlp::new().exporter().unwrap();
            assert_eq!(set.exporter().unwrap().max_delay(signal), default.max_delay(signal));
        }
        assert_eq!(set.requests(Signal::Logs).timeout, Otlp::new().requests(Signal::Logs).timeout);
        assert_eq!(set.attributes, Otlp::new().attributes);
    }
}

#[test]
fn a_proxy_that_can_t_be_used_stops_no_service_and_is_not_bypassed() {
    let set = options(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
        ("HTTP_PROXY", "http://user:s3cret@ bad"),
    ]);
    assert!(set.exporter().is_ok());
    let error = failure(&set, Signal::Logs).unwrap();
    assert!(error.contains("HTTP_PROXY") && !error.contains("s3cret"), "{error}");
}

#[test]
fn a_disabled_exporter_accepts_everything_and_sends_nothing() {
    let nobody = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    let set = options(&[nobody, ("OTEL_SDK_DISABLED", "True")]);
    assert!(Signal::ALL.iter().all(|&signal| !set.sends(signal)));
    assert!(set.exporter().unwrap().send(Signal::Logs, b"").is_ok());
    let set = options(&[nobody, ("OTEL_SDK_DISABLED", "false")]);
    assert!(set.sends(Signal::Logs) && set.ignored_variables().is_empty());
    assert!(set.exporter().unwrap().send(Signal::Logs, b"").is_err());
}

#[test]
fn a_method_takes_precedence_over_a_variable_that_can_t_be_used() {
    type Method = fn(Otlp) -> Otlp;
    let cases: [(&str, Method); 8] = [
        ("OTEL_EXPORTER_OTLP_COMPRESSION", |it| it.compression(Compression::None)),
        ("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", |it| it.compression(Compression::Gzip)),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", |it| it.timeout(Duration::from_secs(1))),
        ("OTEL_BLRP_SCHEDULE_DELAY", |it| it.max_delay(Duration::ZERO)),
        ("OTEL_BSP_SCHEDULE_DELAY", |it| it.max_delay(Duration::ZERO)),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", |it| it.protocol(Protocol::HttpProtobuf)),
        (TEMPORALITY, |it| it.temporality(Temporality::Cumulative)),
        ("OTEL_METRIC_EXPORT_INTERVAL", |it| it.metric_interval(Duration::from_secs(1))),
    ];
    for (name, method) in cases {
        // A variable of another option is still named.
        let other = "OTEL_EXPORTER_OTLP_HEADERS";
        let set = method(options(&[(name, "bad"), (other, "key")]));
        let ignored = ignored(&set);
        assert!(ignored.len() == 1 && ignored[0].contains(other), "{ignored:?}");
    }
}

#[test]
fn an_endpoint_has_a_host_and_a_port_that_can_be_reached() {
    for (url, wanted) in [
        ("http://127.0.0.1:431888", "the port must be 1 to 65535"),
        ("http://127.0.0.1:0", "the port must be 1 to 65535"),
        ("http://collector:", "the port must be 1 to 65535"),
        ("http://[::1]:65536", "the port must be 1 to 65535"),
        ("http://:4318", "it must have a host"),
        ("http://[]:4318", "it must have a host"),
    ] {
        let error = failure(&Otlp::new().endpoint(url), Signal::Logs).expect(url);
        assert!(error.contains(url) && error.contains(wanted), "{error}");
        let of_variable = options(&[("OTEL_EXPORTER_OTLP_ENDPOINT", url)]);
        assert!(of_variable.exporter().is_ok(), "a variable stops no service");
        let error = failure(&of_variable, Signal::Logs).expect(url);
        assert!(error.contains("OTEL_EXPORTER_OTLP_ENDPOINT") && error.contains(wanted), "{error}");
    }
    for url in ["http://collector", "http://[::1]", "http://[::1]:65535", "http://c:1/path"] {
        assert_eq!(failure(&Otlp::new().endpoint(url), Signal::Logs), None, "{url}");
    }
}

#[test]
fn a_header_of_the_protocol_is_refused() {
    for name in ["Content-Length", "host", "connection", "content-encoding", "content-type"] {
        let error = failure(&Otlp::new().header(name, "s3cret"), Signal::Logs).expect(name);
        assert!(error.contains(name) && !error.contains("s3cret"), "{error}");
        let set = options(&[("OTEL_EXPORTER_OTLP_HEADERS", &format!("{name}=s3cret"))]);
        assert_eq!(failure(&set, Signal::Logs), None);
        let ignored = ignored(&set).concat();
        assert!(ignored.contains("HEADERS") && !ignored.contains("s3cret"), "{ignored}");
    }
}

#[test]
fn values_are_in_any_case() {
    let set = options(&[
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "GZIP"),
        ("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", "None"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "HTTP/Protobuf"),
        ("OTEL_EXPORTER_OTLP_INSECURE", "TRUE"),
        (TEMPORALITY, "DELTA"),
        ("OTEL_METRICS_EXPORTER", "NONE"),
        ("OTEL_LOGS_EXPORTER", "OTLP"),
    ]);
    assert_eq!(ignored(&set), [""; 0]);
    let scheme = options(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "HTTP://Collector:4318")]);
    assert_eq!(failure(&scheme, Signal::Logs), None);
    let compression = |signal| set.requests(signal).compression;
    assert_eq!(compression(Signal::Traces), Compression::Gzip);
    assert_eq!(compression(Signal::Logs), Compression::None);
    assert_eq!(set.metrics().1, Temporality::Delta);
    assert_eq!(Signal::ALL.map(|signal| set.sends(signal)), [true, true, false]);
    #[cfg(feature = "grpc")]
    {
        let set = options(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "GRPC")]);
        assert_eq!(set.requests(Signal::Logs).protocol, Protocol::Grpc);
    }
}

#[test]
fn a_header_that_can_t_be_used_costs_no_other_header() {
    let list = "Authorization=Bearer%20s3cret,novalue,k%ff=v,bad name=v,host=h,x=%0a,,x-last= y ";
    for variable in ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_LOGS_HEADERS"] {
        let set = options(&[(variable, list)]);
        let headers = &set.requests(Signal::Logs).headers;
        let headers: Vec<_> = headers.iter().map(|(name, it)| (&**name, it.expose())).collect();
        assert_eq!(headers, [("Authorization", "Bearer s3cret"), ("x-last", "y")]);
        let ignored = ignored(&set);
        for (at, (message, pair)) in ignored.iter().zip(2..).enumerate() {
            let expected = format!("can't use {variable}: pair {pair} of it is left out: ");
            assert!(message.starts_with(&expected), "{at}: {message}");
            assert!(!message.contains("s3cret"), "{message}");
        }
        assert_eq!(ignored.len(), 5, "{ignored:?}");
        assert_eq!(failure(&set, Signal::Logs), None);
    }
}

/// A common mistake: the address would contain the path twice, and a collector would answer 404.
#[test]
fn an_endpoint_with_the_path_of_a_signal_is_refused() {
    let endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";
    for path in ["/v1/traces", "/base/v1/logs/", "/v1/metrics?key=1"] {
        let url = format!("http://collector:4318{path}");
        let of_program = Otlp::new().endpoint(&url);
        for (set, name) in [(of_program, "the endpoint"), (options(&[(endpoint, &url)]), endpoint)]
        {
            let error = failure(&set, Signal::Logs).unwrap();
            let is_right = error.starts_with(&format!("can't use {name} \"http://collector:4318/"));
            assert!(is_right && error.contains(": it must be without /v1/"), "{error}");
        }
    }
    let whole = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://collector:4318/v1/traces");
    assert_eq!(failure(&options(&[whole]), Signal::Traces), None);
    if cfg!(feature = "grpc") {
        let grpc = options(&[whole, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
        let error = failure(&grpc, Signal::Traces).unwrap();
        assert!(error.contains("it must be without /v1/traces"), "{error}");
    }
}

#[test]
fn times_of_zero_are_faults_and_all_faults_are_named() {
    let error = failure(&Otlp::new().timeout(Duration::ZERO), Signal::Logs).unwrap();
    assert!(error.contains("timeout"), "{error}");
    assert_eq!(failure(&Otlp::new().timeout(Duration::MAX), Signal::Logs), None);
    let set = Otlp::new().metric_interval(Duration::ZERO);
    assert_eq!(failure(&set, Signal::Logs), None);
    let set = set.timeout(Duration::ZERO).header("host", "other").endpoint("collector");
    let error = failure(&set, Signal::Metrics).unwrap();
    for part in ["interval", "timeout", "host", "endpoint"] {
        assert!(error.contains(part), "{error}");
    }
}

#[cfg(feature = "grpc")]
#[test]
fn grpc_has_an_endpoint_of_its_own_and_a_method() {
    let logs = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
    let set = options(&[("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "grpc")]);
    assert_eq!(set.requests(Signal::Logs).url().expose(), format!("http://localhost:4317{logs}"));
    assert_eq!(set.requests(Signal::Traces).url().expose(), "http://localhost:4318/v1/traces");
    for variable in ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"] {
        // The protocol's variable comes before or after the endpoint's.
        let endpoint = (variable, "http://collector:1/");
        let set = options(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
        assert_eq!(set.requests(Signal::Logs).url().expose(), format!("http://collector:1{logs}"));
        assert_eq!(failure(&set, Signal::Logs), None);
        assert_eq!(
            options(&[endpoint]).protocol(Protocol::Grpc).requests(Signal::Logs).url(),
            set.requests(Signal::Logs).url()
        );
    }
}

#[cfg(not(feature = "grpc"))]
#[test]
fn grpc_without_its_feature_names_the_feature() {
    let set = options(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
    let ignored = ignored(&set).concat();
    assert!(ignored.contains("feature grpc"), "{ignored}");
    let error = failure(&Otlp::new().protocol(Protocol::Grpc), Signal::Logs).unwrap();
    assert!(error.contains("feature grpc"), "{error}");
}

/// If the files are the same, the signals share a connection.
#[test]
fn files_of_two_variables_are_the_same_if_their_paths_are() {
    let all = ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem");
    for (path, is_same) in [("/ca.pem", true), ("/other.pem", false)] {
        let set = options(&[all, ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", path)]);
        let files = |signal| &set.requests(signal).files;
        assert_eq!(files(Signal::Logs) == files(Signal::Traces), is_same, "{path}");
    }
}

#[cfg(feature = "tls")]
#[test]
fn a_file_of_certificates_that_can_t_be_used_is_named_with_its_variable() {
    let folder = std::env::temp_dir().join(format!("tach-pem-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let text = write("text", "no certificate");
    let cut = write("cut", "-----BEGIN CERTIFICATE-----\nMIIB\n");
    let broken = write("broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let missing = folder.join("missing").display().to_string();
    for (variable, path, wanted) in [
        ("CERTIFICATE", &missing, "can't be read"),
        ("CERTIFICATE", &text, "must have a certificate in PEM, each mark on a line of its own"),
        ("CERTIFICATE", &cut, "must have a certificate in PEM"),
        ("CERTIFICATE", &broken, "certificates of authorities"),
        ("TRACES_CERTIFICATE", &missing, "can't be read"),
        ("CLIENT_CERTIFICATE", &text, "needs the client's key too"),
        ("CLIENT_KEY", &text, "needs the client's certificate too"),
    ] {
        let name = format!("OTEL_EXPORTER_OTLP_{variable}");
        let set =
            options(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318"), (&name, path)]);
        assert!(set.exporter().is_ok(), "a variable stops no service");
        let error = failure(&set, Signal::Traces).unwrap();
        assert!([&*name, path, wanted].iter().all(|part| error.contains(part)), "{error}");
        // A plain connection does not read the file.
        assert_eq!(failure(&options(&[(&name, path)]), Signal::Traces), None);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[cfg(not(feature = "tls"))]
#[test]
fn tls_without_its_feature_names_the_feature() {
    let set = options(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318")]);
    let error = failure(&set, Signal::Logs).unwrap();
    assert!(error.contains("https://collector:4318") && error.contains("tls"), "{error}");
}

#[test]
fn secrets_of_an_address_are_in_no_message() {
    let works = ["https://h/v1/logs?api_key=s3cret", "https://h:1/?s3cret"];
    let fails = [
        "http://user:s3cret@h/",
        "user:s3cret@h",
        "http://h:0/?s3cret",
        "http://h /?s3cret",
        "s3cret@",
        "http://user:s3cret@h:port?x",
    ];
    for url in works.into_iter().chain(fails) {
        for options in [
            Otlp::new().endpoint(url),
            options(&[("OTEL_EXPORTER_OTLP_ENDPOINT", url)]),
            options(&[("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", url)]),
            options(&[("OTEL_EXPORTER_OTLP_TIMEOUT", url), ("OTEL_SERVICE_NAME", url)]),
            Otlp::new().endpoint(url).protocol(Protocol::Grpc),
        ] {
            let debug = format!("{options:?}");
            let name = options.requests(Signal::Logs).url().shown();
            let error = failure(&options, Signal::Logs);
            let ignored = ignored(&options).concat();
            let is_whole = cfg!(feature = "tls") && works.contains(&url);
            assert!(error.is_some() || !ignored.is_empty() || is_whole, "{url}");
            for text in [Some(debug), Some(name), error, Some(ignored)].into_iter().flatten() {
                assert!(!text.contains("s3cret"), "{text}");
            }
        }
    }
    let query = Otlp::new().endpoint("https://h/base/?key=1");
    assert_eq!(query.requests(Signal::Logs).url().expose(), "https://h/base/v1/logs?key=1");
}

#[test]
fn values_of_headers_are_in_no_message() {
    let options = options(&[("OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret,bad")]);
    let debug = format!("{options:?}");
    let ignored = ignored(&options).concat();
    assert!(!ignored.is_empty() && !ignored.contains("s3cret"), "{ignored}");
    assert!(!debug.contains("s3cret"), "{debug}");
    for name in ["s3cret: bearer", "s3cret\n"] {
        let options = Otlp::new().header(name, "");
        let debug = format!("{options:?}");
        let error = failure(&options, Signal::Logs).unwrap();
        assert!(!debug.contains("s3cret") && !error.contains("s3cret"), "{debug} {error}");
    }
    let (_, value) = known_header(&("key".to_owned(), Secret::new("s3cret"))).unwrap();
    assert!(value.is_sensitive());
    let options = Otlp::new().header("key", "s3cret\n");
    let error = failure(&options, Signal::Logs).unwrap();
    assert!(error.contains("key") && !error.contains("s3cret"), "{error}");
}

#[test]
fn a_signal_is_sent_unless_its_variable_or_the_program_says_otherwise() {
    let sends = |options: &Otlp| Signal::ALL.map(|signal| options.sends(signal));
    assert_eq!(sends(&options(&[])), [true; 3]);
    let set = options(&[
        ("OTEL_LOGS_EXPORTER", "otlp"),
        ("OTEL_TRACES_EXPORTER", "console, otlp"),
        ("OTEL_METRICS_EXPORTER", " none "),
    ]);
    assert_eq!((sends(&set), ignored(&set).len()), ([true, true, false], 0));
    let mut exporter = set.endpoint("http://127.0.0.1:1").exporter().unwrap();
    assert!(
        exporter.send(Signal::Metrics, b"").is_ok() && exporter.send(Signal::Logs, b"").is_err()
    );
    let set = options(&[("OTEL_METRICS_EXPORTER", "prometheus")]);
    let expected = "can't use OTEL_METRICS_EXPORTER \"prometheus\": it must be otlp or none; other \
                    exporters are not known";
    assert_eq!((sends(&set), ignored(&set)), ([true; 3], vec![expected.to_owned()]));
    assert_eq!(sends(&set.signals([Signal::Traces])), [false, true, false]);
    let set = options(&[("OTEL_TRACES_EXPORTER", "none")]);
    assert_eq!(sends(&set.signals([Signal::Logs, Signal::Traces])), [true, false, false]);
    let disabled = options(&[("OTEL_SDK_DISABLED", "true")]).signals([Signal::Logs]);
    assert_eq!(sends(&disabled), [false; 3]);
}

#[test]
fn an_error_names_the_faults_of_all_signals_once() {
    let both = Otlp::new().timeout(Duration::ZERO).metric_interval(Duration::ZERO);
    assert_eq!(
        both.exporter().unwrap_err().to_string(),
        "can't use the timeout \"0ns\": it must be longer than zero; can't use the interval of \
         metrics \"0ns\": it must be at least 1 ms"
    );
}

#[cfg(feature = "grpc")]
#[test]
fn an_endpoint_of_grpc_needs_no_scheme() {
    let url = |variables: &[(&str, &str)]| {
        let set = options(variables);
        assert!(ignored(&set).is_empty());
        set.requests(Signal::Logs).url().expose().rsplit_once("/open").unwrap().0.to_owned()
    };
    let protocol = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317");
    assert_eq!(url(&[protocol, endpoint]), "https://collector:4317");
    let insecure = |word| ("OTEL_EXPORTER_OTLP_INSECURE", word);
    assert_eq!(url(&[protocol, endpoint, insecure("True")]), "http://collector:4317");
    assert_eq!(url(&[protocol, endpoint, insecure("false")]), "https://collector:4317");
    let of_logs = ("OTEL_EXPORTER_OTLP_LOGS_INSECURE", "true");
    assert_eq!(url(&[protocol, endpoint, insecure("false"), of_logs]), "http://collector:4317");
    let whole = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4317");
    assert_eq!(url(&[protocol, whole, insecure("true")]), "https://collector:4317");
    assert_eq!(url(&[protocol, insecure("true")]), "http://localhost:4317");
    assert_eq!(
        failure(&options(&[endpoint]), Signal::Logs).unwrap(),
        "can't use OTEL_EXPORTER_OTLP_ENDPOINT \"collector:4317\": it must be a URL, such as \
         http://localhost:4318"
    );
}
