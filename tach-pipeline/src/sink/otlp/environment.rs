//! OpenTelemetry's variables of the environment
//! (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>).

use core::str::FromStr;
use core::time::Duration;
use std::ffi::OsString;

use percent_encoding::percent_decode_str;

#[cfg(feature = "otlp-tls")]
use super::tls::{File, Files};
use super::{Endpoint, Fault, Limits, Otlp, Protocol, Requests, SERVICE_NAME, Signal};
use crate::durations::Temporality;
use crate::secret::Secret;

/// Sets an option to a variable's value, or returns why the value can't be used.
type Set<O> = fn(&mut O, &str) -> Result<(), &'static str>;

/// Variables of the requests, after `OTEL_EXPORTER_OTLP_` or, with precedence, the same and the
/// signal.
const OF_REQUESTS: [(&str, Set<Requests>); 4] = [
    ("HEADERS", headers),
    ("COMPRESSION", compression),
    ("TIMEOUT", timeout),
    ("PROTOCOL", protocol),
];

/// Returns the place of one of the files.
#[cfg(feature = "otlp-tls")]
type Place = fn(&mut Files) -> &mut Option<File>;

/// Variables with the paths of files, named as those of the requests.
#[cfg(feature = "otlp-tls")]
const OF_FILES: [(&str, Place); 3] = [
    ("CERTIFICATE", |files| &mut files.roots),
    ("CLIENT_CERTIFICATE", |files| &mut files.certificate),
    ("CLIENT_KEY", |files| &mut files.key),
];

/// Variables of the resource. The later one takes precedence.
const OF_RESOURCE: [(&str, Set<Otlp>); 2] = [
    ("OTEL_RESOURCE_ATTRIBUTES", resource),
    (SERVICE_NAME, |options, name| {
        *options = options.clone().service_name(name);
        Ok(())
    }),
];

/// Variables of the limits, each after the more general one.
const OF_LIMITS: [(&str, Set<Limits>); 10] = [
    ("OTEL_ATTRIBUTE_COUNT_LIMIT", |limits, number| {
        let count = limit(number)?;
        (limits.spans.attributes.count, limits.records.count) = (count, count);
        (limits.spans.event_attributes, limits.spans.link_attributes) = (count, count);
        Ok(())
    }),
    ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", |limits, number| {
        let length = limit(number)?;
        (limits.spans.attributes.length, limits.records.length) = (length, length);
        Ok(())
    }),
    ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", |limits, number| {
        set_limit(&mut limits.spans.attributes.count, number)
    }),
    ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", |limits, number| {
        set_limit(&mut limits.spans.attributes.length, number)
    }),
    ("OTEL_SPAN_EVENT_COUNT_LIMIT", |limits, number| set_limit(&mut limits.spans.events, number)),
    ("OTEL_SPAN_LINK_COUNT_LIMIT", |limits, number| set_limit(&mut limits.spans.links, number)),
    ("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", |limits, number| {
        set_limit(&mut limits.spans.event_attributes, number)
    }),
    ("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", |limits, number| {
        set_limit(&mut limits.spans.link_attributes, number)
    }),
    ("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", |limits, number| {
        set_limit(&mut limits.records.count, number)
    }),
    ("OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT", |limits, number| {
        set_limit(&mut limits.records.length, number)
    }),
];

const TEMPORALITY: &str = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";

impl Signal {
    fn variable(self, name: &str) -> String {
        let signal = match self {
            Self::Logs => "LOGS",
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
        };
        format!("OTEL_EXPORTER_OTLP_{signal}_{name}")
    }

    /// Returns the variable of the longest delay.
    fn delay(self) -> &'static str {
        match self {
            Self::Logs => "OTEL_BLRP_SCHEDULE_DELAY",
            Self::Traces => "OTEL_BSP_SCHEDULE_DELAY",
            Self::Metrics => "OTEL_METRIC_EXPORT_INTERVAL",
        }
    }
}

/// Sets the options that have variables, which `variable` looks up. The options' faults are the
/// variables that can't be used.
pub(super) fn apply(mut options: Otlp, variable: impl Fn(&str) -> Option<OsString>) -> Otlp {
    // An empty variable counts as unset.
    let find = |name: &str| {
        let value = variable(name).filter(|value| !value.is_empty());
        value.map(|value| (name.to_owned(), value))
    };
    if let Some((_, url)) = find("OTEL_EXPORTER_OTLP_ENDPOINT") {
        options = options.endpoint(url.to_string_lossy().trim());
    }
    for signal in Signal::ALL {
        let requests = options.of(signal);
        if let Some((_, url)) = find(&signal.variable("ENDPOINT")) {
            requests.endpoint = Endpoint::Whole(Secret::new(url.to_string_lossy().trim()));
        }
        let of_signal = |name: &str| {
            let general = || find(&format!("OTEL_EXPORTER_OTLP_{name}"));
            find(&signal.variable(name)).or_else(general)
        };
        for (name, set) in OF_REQUESTS {
            let found = of_signal(name);
            let fault = set_to(requests, set, found);
            requests.faults.extend(fault);
        }
        #[cfg(feature = "otlp-tls")]
        for (name, file) in OF_FILES {
            if let Some((variable, path)) = of_signal(name) {
                *file(&mut requests.files) = Some(File::of(&variable, path.as_ref()));
            }
        }
        let fault = set_to(requests, delay, find(signal.delay()));
        requests.faults.extend(fault);
    }
    let found = find(TEMPORALITY);
    let fault = set_to(&mut options, temporality, found);
    options.metrics.faults.extend(fault);
    for (name, set) in OF_RESOURCE {
        let fault = set_to(&mut options, set, find(name));
        options.faults.extend(fault);
    }
    for (name, set) in OF_LIMITS {
        let fault = set_to(&mut options.limits, set, find(name));
        options.faults.extend(fault);
    }
    options
}

/// Sets an option to the value of a variable, if it is set. Returns the variable if it can't be
/// used.
fn set_to<O>(options: &mut O, set: Set<O>, found: Option<(String, OsString)>) -> Option<Fault> {
    let (name, value) = found?;
    let done = match value.to_str() {
        Some(value) => set(options, value.trim()),
        None => Err("it must be Unicode"),
    };
    // Values of headers may be secrets.
    let is_secret = name.ends_with("HEADERS");
    let value = if is_secret { String::new() } else { value.to_string_lossy().into_owned() };
    done.err().map(|reason| Fault { name, value, reason })
}

fn headers(requests: &mut Requests, list: &str) -> Result<(), &'static str> {
    for (name, value) in pairs(list)? {
        requests.header(&name, &value);
    }
    Ok(())
}

fn resource(options: &mut Otlp, list: &str) -> Result<(), &'static str> {
    for (key, value) in pairs(list)? {
        *options = options.clone().attribute(&key, &*value);
    }
    Ok(())
}

fn compression(requests: &mut Requests, name: &str) -> Result<(), &'static str> {
    requests.compresses = match name {
        "gzip" => true,
        "none" => false,
        _ => return Err("it must be gzip or none"),
    };
    Ok(())
}

fn timeout(requests: &mut Requests, millis: &str) -> Result<(), &'static str> {
    requests.timeout = duration(millis)?;
    if requests.timeout.is_zero() {
        return Err("it must be a number of milliseconds, and at least 1");
    }
    Ok(())
}

fn delay(requests: &mut Requests, millis: &str) -> Result<(), &'static str> {
    requests.max_delay = duration(millis)?;
    Ok(())
}

fn temporality(options: &mut Otlp, name: &str) -> Result<(), &'static str> {
    options.temporality = match &*name.to_ascii_lowercase() {
        "cumulative" => Temporality::Cumulative,
        "delta" | "lowmemory" => Temporality::Delta,
        _ => return Err("it must be cumulative, delta or lowmemory"),
    };
    Ok(())
}

fn duration(millis: &str) -> Result<Duration, &'static str> {
    let millis = millis.parse().map_err(|_| "it must be a number of milliseconds")?;
    Ok(Duration::from_millis(millis))
}

fn set_limit<N: FromStr>(limit_to_set: &mut N, number: &str) -> Result<(), &'static str> {
    *limit_to_set = limit(number)?;
    Ok(())
}

fn limit<N: FromStr>(number: &str) -> Result<N, &'static str> {
    number.parse().map_err(|_| "it must be a number of at least 0")
}

fn protocol(requests: &mut Requests, name: &str) -> Result<(), &'static str> {
    requests.protocol = match name {
        "http/protobuf" => Protocol::Http,
        #[cfg(feature = "otlp-grpc")]
        "grpc" => Protocol::Grpc,
        #[cfg(not(feature = "otlp-grpc"))]
        "grpc" => {
            return Err(
                "it must be http/protobuf, for which a collector listens on port 4318; grpc \
                        needs the feature otlp-grpc of tach-pipeline",
            );
        }
        _ => return Err("it must be http/protobuf or grpc"),
    };
    Ok(())
}

/// Returns the keys and the values of a list such as `key=value,other=a%20b`.
fn pairs(list: &str) -> Result<Vec<(String, String)>, &'static str> {
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').ok_or("it must be a list such as key=value,k=v")?;
        let decode = |text: &str| {
            let decoded = percent_decode_str(text.trim()).decode_utf8();
            decoded.map(String::from).map_err(|_| "its escapes such as %20 must be UTF-8")
        };
        Ok((decode(key)?, decode(value)?))
    };
    list.split(',').map(str::trim).filter(|text| !text.is_empty()).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::limits::{AttributeLimits, SpanLimits};

    fn options(variables: &[(&str, &str)]) -> Otlp {
        apply(Otlp::new(), |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        })
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
        assert_eq!(set.logs.url().expose(), "http://collector:4318/v1/logs");
        assert_eq!(set.traces.url().expose(), "http://collector:4318/v1/traces");
        let headers = [("x-key", "a b"), ("other", "c")];
        for requests in [&set.logs, &set.traces] {
            let expected = headers.map(|(name, value)| (name.to_owned(), Secret::new(value)));
            assert_eq!(requests.headers, expected);
            assert!(requests.compresses);
            assert_eq!((requests.timeout.as_millis(), requests.faults.len()), (250, 0));
        }
        assert_eq!((set.logs.max_delay.as_millis(), set.traces.max_delay.as_millis()), (20, 30));
        assert!(has(&set, "service.name", "from,list") && has(&set, "host.name", "box"));
        assert_eq!(set.faults, []);
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
        assert_eq!(set.logs.url().expose(), "http://logs:1/as/is");
        assert_eq!(set.traces.url().expose(), "http://other:4318/v1/traces");
        assert!(!set.logs.compresses && set.traces.compresses);
        assert!(has(&set, "service.name", "own"));
        // A fault of one signal's variables stops no sink of the other.
        assert_eq!(set.logs.faults, []);
        assert!(set.clone().open(Signal::Logs).is_ok() && set.open(Signal::Traces).is_err());
    }

    #[test]
    fn the_more_specific_limit_takes_precedence() {
        let set = options(&[
            ("OTEL_ATTRIBUTE_COUNT_LIMIT", "1"),
            ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "2"),
        ]);
        let attributes = AttributeLimits { count: 1, length: 2 };
        assert_eq!(set.limits.records, attributes);
        let expected = SpanLimits {
            attributes,
            event_attributes: 1,
            link_attributes: 1,
            ..SpanLimits::default()
        };
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
            links: 6,
            event_attributes: 7,
            link_attributes: 8,
        };
        assert_eq!((set.limits.spans, set.faults.len()), (expected, 0));
    }

    #[test]
    fn metrics_have_variables_of_their_own() {
        let all = [("Delta", Temporality::Delta), ("lowmemory", Temporality::Delta)];
        for (name, temporality) in all.into_iter().chain([("CUMULATIVE", Temporality::Cumulative)])
        {
            let set = options(&[
                (TEMPORALITY, name),
                ("OTEL_METRIC_EXPORT_INTERVAL", "5000"),
                ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://metrics:1/as/is"),
                ("OTEL_BSP_SCHEDULE_DELAY", "30"),
            ]);
            assert_eq!(set.metrics.url().expose(), "http://metrics:1/as/is");
            assert_eq!((set.temporality, set.metrics.max_delay.as_millis()), (temporality, 5000));
            assert_eq!(
                set.open(Signal::Metrics).map(|it| it.max_delay()).ok(),
                Some(Duration::ZERO)
            );
        }
        let error = options(&[(TEMPORALITY, "both")]).open(Signal::Metrics).err().unwrap();
        assert!(error.to_string().contains(TEMPORALITY), "{error}");
        assert!(options(&[(TEMPORALITY, "both")]).open(Signal::Logs).is_ok());
        let default = options(&[]);
        assert_eq!(
            (default.temporality, default.metrics.max_delay.as_secs()),
            (Temporality::Cumulative, 60)
        );
    }

    #[test]
    fn an_empty_variable_is_unset() {
        let set = options(&[("OTEL_EXPORTER_OTLP_TIMEOUT", ""), ("OTEL_SERVICE_NAME", "")]);
        assert_eq!((set.logs.timeout, set.faults.len()), (Otlp::new().logs.timeout, 0));
        assert_eq!(set.attributes, Otlp::new().attributes);
    }

    #[test]
    fn a_variable_that_can_t_be_used_fails_and_is_named() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "-1"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_BLRP_SCHEDULE_DELAY", "soon"),
            ("OTEL_SPAN_LINK_COUNT_LIMIT", "-1"),
            ("OTEL_RESOURCE_ATTRIBUTES", "host"),
            ("OTEL_RESOURCE_ATTRIBUTES", "host=%ff"),
        ] {
            let error = options(&[(name, value)]).open(Signal::Logs).err().unwrap();
            assert!(error.is_option(), "{error}");
            assert!(error.to_string().contains(name) && error.to_string().contains(value));
        }
    }

    #[test]
    fn a_method_takes_precedence_over_a_variable_that_can_t_be_used() {
        type Method = fn(Otlp) -> Otlp;
        let cases: [(&str, &[Signal], Method); 5] = [
            ("OTEL_EXPORTER_OTLP_COMPRESSION", &Signal::ALL, |it| it.gzip(false)),
            ("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", &[Signal::Logs], |it| it.gzip(true)),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", &Signal::ALL, |it| it.timeout(Duration::from_secs(1))),
            ("OTEL_BLRP_SCHEDULE_DELAY", &[Signal::Logs], |it| it.max_delay(Duration::ZERO)),
            ("OTEL_BSP_SCHEDULE_DELAY", &[Signal::Traces], |it| it.max_delay(Duration::ZERO)),
        ];
        #[cfg(feature = "otlp-grpc")]
        let cases = cases.into_iter().chain([(
            "OTEL_EXPORTER_OTLP_PROTOCOL",
            &Signal::ALL as &[Signal],
            (|it| it.grpc(false)) as Method,
        )]);
        #[cfg(feature = "tracing")]
        let cases = cases.into_iter().chain([
            (
                TEMPORALITY,
                &[Signal::Metrics] as &[Signal],
                (|it| it.delta_temporality(false)) as Method,
            ),
            ("OTEL_METRIC_EXPORT_INTERVAL", &[Signal::Metrics], |it| {
                it.metric_interval(Duration::ZERO)
            }),
        ]);
        for (name, signals, method) in cases {
            // A fault of another option stays.
            let other = ("OTEL_EXPORTER_OTLP_HEADERS", "key");
            for signal in signals {
                let set = options(&[(name, "bad")]);
                assert!(set.clone().open(*signal).is_err(), "{name}");
                assert!(method(set).open(*signal).is_ok(), "{name}");
                assert!(method(options(&[(name, "bad"), other])).open(*signal).is_err());
            }
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
            let error = Otlp::new().endpoint(url).open(Signal::Logs).err().expect(url);
            let text = error.to_string();
            assert!(error.is_option() && text.contains(url) && text.contains(wanted), "{error}");
        }
        for url in ["http://collector", "http://[::1]", "http://[::1]:65535", "http://c:1/path"] {
            assert!(Otlp::new().endpoint(url).open(Signal::Logs).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_header_replaces_the_default_one_but_none_of_the_protocol() {
        let set = Otlp::new().header("User-Agent", "mine").header("x-key", "1");
        for all in [set.logs.all_headers().unwrap(), set.traces.all_headers().unwrap()] {
            let agents = all.get_all("user-agent").iter().filter(|it| *it == "mine").count();
            assert_eq!((agents, all.len()), (1, 3));
        }
        for name in ["Content-Length", "host", "connection", "content-encoding", "content-type"] {
            let error = Otlp::new().header(name, "s3cret").open(Signal::Logs).err().expect(name);
            let text = error.to_string();
            assert!(error.is_option() && text.contains(name) && !text.contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn a_timeout_of_zero_is_a_fault() {
        let error = Otlp::new().timeout(Duration::ZERO).open(Signal::Logs).err().unwrap();
        assert!(error.is_option() && error.to_string().contains("timeout"), "{error}");
        assert!(Otlp::new().timeout(Duration::MAX).open(Signal::Logs).is_ok());
    }

    #[cfg(feature = "otlp-grpc")]
    #[test]
    fn grpc_has_an_endpoint_of_its_own_and_a_method() {
        let logs = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
        let set = options(&[("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "grpc")]);
        assert_eq!(set.logs.url().expose(), format!("http://localhost:4317{logs}"));
        assert_eq!(set.traces.url().expose(), "http://localhost:4318/v1/traces");
        for variable in ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"] {
            // The protocol comes before or after the endpoint.
            let endpoint = (variable, "http://collector:1/");
            let set = options(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
            assert_eq!(set.logs.url().expose(), format!("http://collector:1{logs}"));
            assert!(set.clone().open(Signal::Logs).is_ok());
            assert_eq!(options(&[endpoint]).grpc(true).logs.url(), set.logs.url());
        }
    }

    #[cfg(not(feature = "otlp-grpc"))]
    #[test]
    fn grpc_without_its_feature_names_the_feature() {
        let set = options(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
        let error = set.open(Signal::Logs).err().unwrap().to_string();
        assert!(error.contains("otlp-grpc"), "{error}");
    }

    #[cfg(feature = "otlp-tls")]
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
        let broken =
            write("broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        let missing = folder.join("missing").display().to_string();
        for (variable, path, wanted) in [
            ("CERTIFICATE", &missing, "can't be read"),
            ("CERTIFICATE", &text, "must have a certificate in PEM, and has none"),
            ("CERTIFICATE", &cut, "must have a certificate in PEM"),
            ("CERTIFICATE", &broken, "certificates of authorities"),
            ("TRACES_CERTIFICATE", &missing, "can't be read"),
            ("CLIENT_CERTIFICATE", &text, "needs the client's key too"),
            ("CLIENT_KEY", &text, "needs the client's certificate too"),
        ] {
            let name = format!("OTEL_EXPORTER_OTLP_{variable}");
            let set = options(&[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318"),
                (&name, path),
            ]);
            let error = set.open(Signal::Traces).err().unwrap();
            assert!(error.is_option(), "{error}");
            let error = error.to_string();
            assert!([&*name, path, wanted].iter().all(|part| error.contains(part)), "{error}");
            // Nobody reads it for a plain connection.
            assert!(options(&[(&name, path)]).open(Signal::Traces).is_ok());
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(not(feature = "otlp-tls"))]
    #[test]
    fn tls_without_its_feature_names_the_feature() {
        let set = options(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318")]);
        let error = set.open(Signal::Logs).err().unwrap().to_string();
        assert!(error.contains("https://collector:4318") && error.contains("otlp-tls"), "{error}");
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
                #[cfg(feature = "otlp-grpc")]
                Otlp::new().endpoint(url).grpc(true),
            ] {
                let debug = format!("{options:?}");
                let name = options.name(Signal::Logs);
                let error = options.open(Signal::Logs).err().map(|error| error.to_string());
                assert!(error.is_some() || works.contains(&url), "{url}");
                for text in [Some(debug), Some(name), error].into_iter().flatten() {
                    assert!(!text.contains("s3cret"), "{text}");
                }
            }
        }
        let query = Otlp::new().endpoint("https://h/base/?key=1");
        assert_eq!(query.logs.url().expose(), "https://h/base/v1/logs?key=1");
    }

    #[test]
    fn values_of_headers_are_in_no_message() {
        let options = options(&[("OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret,bad")]);
        let debug = format!("{options:?}");
        let error = options.open(Signal::Logs).err().unwrap().to_string();
        assert!(!debug.contains("s3cret") && !error.contains("s3cret"), "{debug} {error}");
        for name in ["s3cret: bearer", "s3cret\n"] {
            let options = Otlp::new().header(name, "");
            let debug = format!("{options:?}");
            let error = options.open(Signal::Logs).err().unwrap().to_string();
            assert!(!debug.contains("s3cret") && !error.contains("s3cret"), "{debug} {error}");
        }
        let sent = Otlp::new().header("key", "s3cret").logs.all_headers().unwrap();
        assert!(sent["key"].is_sensitive() && !sent["user-agent"].is_sensitive());
        let options = Otlp::new().header("key", "s3cret\n");
        let error = options.open(Signal::Logs).err().unwrap().to_string();
        assert!(error.contains("key") && !error.contains("s3cret"), "{error}");
    }
}
