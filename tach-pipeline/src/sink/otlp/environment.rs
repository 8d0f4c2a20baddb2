//! OpenTelemetry's variables of the environment
//! (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>).

use core::str;
use core::time::Duration;
use std::ffi::OsString;

use percent_encoding::percent_decode_str;

use super::Otlp;

/// Sets an option to a variable's value, or returns why the value can't be used.
type Set = fn(Otlp, &str) -> Result<Otlp, &'static str>;

/// Variables of the exporter. If the first of a row is set, the second has no effect.
const OF_EXPORTER: [([&str; 2], Set); 5] = [
    (["OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"], headers),
    (["OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"], compression),
    (["OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"], timeout),
    (["OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"], protocol),
    (["OTEL_BLRP_SCHEDULE_DELAY", ""], delay),
];

/// Variables that each set something. A later one takes precedence.
const IN_ORDER: [(&str, Set); 4] = [
    ("OTEL_EXPORTER_OTLP_ENDPOINT", |options, url| Ok(options.endpoint(url))),
    ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", |options, url| {
        Ok(Otlp { logs: url.to_owned(), ..options })
    }),
    ("OTEL_RESOURCE_ATTRIBUTES", |options, list| {
        pairs(list, options, |options, key, value| options.attribute(key, value))
    }),
    ("OTEL_SERVICE_NAME", |options, name| Ok(options.service_name(name))),
];

/// Sets the options that have variables, which `variable` looks up. The options' fault is the first
/// variable that can't be used.
pub(super) fn apply(mut options: Otlp, variable: impl Fn(&str) -> Option<OsString>) -> Otlp {
    // An empty variable counts as unset.
    let find = |name| variable(name).filter(|value| !value.is_empty()).map(|value| (name, value));
    let of_exporter = OF_EXPORTER.map(|(names, set)| (names.into_iter().find_map(find), set));
    let in_order = IN_ORDER.map(|(name, set)| (find(name), set));
    for (found, set) in of_exporter.into_iter().chain(in_order) {
        let Some((name, value)) = found else { continue };
        let done = match value.to_str() {
            Some(value) => set(options.clone(), value.trim()),
            None => Err("it must be Unicode"),
        };
        match done {
            Ok(changed) => options = changed,
            Err(reason) => {
                let value = value.to_string_lossy().into_owned();
                // Values of headers may be secrets.
                let value = if name.ends_with("HEADERS") { String::new() } else { value };
                options.fault.get_or_insert((name.to_owned(), value, reason));
            }
        }
    }
    options
}

fn headers(options: Otlp, list: &str) -> Result<Otlp, &'static str> {
    pairs(list, options, Otlp::header)
}

fn compression(options: Otlp, name: &str) -> Result<Otlp, &'static str> {
    match name {
        "gzip" => Ok(options.gzip(true)),
        "none" => Ok(options.gzip(false)),
        _ => Err("it must be gzip or none"),
    }
}

fn timeout(options: Otlp, millis: &str) -> Result<Otlp, &'static str> {
    Ok(options.timeout(duration(millis)?))
}

fn delay(options: Otlp, millis: &str) -> Result<Otlp, &'static str> {
    Ok(options.max_delay(duration(millis)?))
}

fn duration(millis: &str) -> Result<Duration, &'static str> {
    let millis = millis.parse().map_err(|_| "it must be a number of milliseconds")?;
    Ok(Duration::from_millis(millis))
}

fn protocol(options: Otlp, name: &str) -> Result<Otlp, &'static str> {
    if name == "http/protobuf" {
        Ok(options)
    } else {
        Err("it must be http/protobuf, for which a collector listens on port 4318")
    }
}

/// Calls `set` with each key and value of a list such as `key=value,other=a%20b`.
fn pairs(
    list: &str,
    mut options: Otlp,
    set: impl Fn(Otlp, &str, &str) -> Otlp,
) -> Result<Otlp, &'static str> {
    for pair in list.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or("it must be a list such as key=value,k=v")?;
        let decode = |text: &str| {
            let decoded = percent_decode_str(text.trim()).decode_utf8();
            decoded.map(String::from).map_err(|_| "its escapes such as %20 must be UTF-8")
        };
        options = set(options, &decode(key)?, &decode(value)?);
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=from%2Clist,host.name=box"),
        ]);
        assert_eq!(set.logs, "http://collector:4318/v1/logs");
        let headers = [("x-key", "a b"), ("other", "c")];
        assert_eq!(set.headers, headers.map(|(name, value)| (name.into(), value.into())));
        assert!(set.compresses);
        assert_eq!((set.timeout.as_millis(), set.max_delay.as_millis()), (250, 20));
        assert!(has(&set, "service.name", "from,list") && has(&set, "host.name", "box"));
        assert_eq!(set.fault, None);
    }

    #[test]
    fn the_more_specific_variable_takes_precedence() {
        let set = options(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://other:4318"),
            ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://logs:1/as/is"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", "none"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=list"),
            ("OTEL_SERVICE_NAME", "own"),
        ]);
        assert_eq!(set.logs, "http://logs:1/as/is");
        assert!(!set.compresses && has(&set, "service.name", "own"));
        assert_eq!(set.fault, None);
    }

    #[test]
    fn an_empty_variable_is_unset() {
        let set = options(&[("OTEL_EXPORTER_OTLP_TIMEOUT", ""), ("OTEL_SERVICE_NAME", "")]);
        assert_eq!((set.timeout, set.fault.as_ref()), (Otlp::new().timeout, None));
        assert_eq!(set.attributes, Otlp::new().attributes);
    }

    #[test]
    fn a_variable_that_can_t_be_used_fails_and_is_named() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "-1"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_BLRP_SCHEDULE_DELAY", "soon"),
            ("OTEL_RESOURCE_ATTRIBUTES", "host"),
            ("OTEL_RESOURCE_ATTRIBUTES", "host=%ff"),
        ] {
            let error = options(&[(name, value)]).open().err().unwrap();
            assert!(error.is_option(), "{error}");
            assert!(error.to_string().contains(name) && error.to_string().contains(value));
        }
    }

    #[test]
    fn values_of_headers_are_in_no_message() {
        let options = options(&[("OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret,bad")]);
        let debug = format!("{options:?}");
        let error = options.open().err().unwrap().to_string();
        assert!(!debug.contains("s3cret") && !error.contains("s3cret"), "{debug} {error}");
        let options = Otlp::new().header("key", "s3cret\n");
        let error = options.open().err().unwrap().to_string();
        assert!(error.contains("key") && !error.contains("s3cret"), "{error}");
    }
}
