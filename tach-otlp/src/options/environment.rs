//! OpenTelemetry's variables of the environment
//! (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>).

use core::str::FromStr;
use core::time::Duration;
use std::ffi::OsString;

use percent_encoding::percent_decode_str;

use super::proxy::Proxies;
use super::requests::{Endpoint, Requests, known_header};
use super::resource::SERVICE_NAME;
use super::{Compression, Limits, Otlp, Protocol, Temporality};
use crate::error::Fault;
use crate::secret::Secret;
use crate::security::{File, Files};
use crate::signal::Signal;

/// Sets an option to a variable's value, or returns why the value can't be used.
type Set<O> = fn(&mut O, &str) -> Result<(), &'static str>;

/// Options of the requests, by the end of their variables' names. `OTEL_EXPORTER_OTLP_HEADERS`
/// holds for all signals, and `OTEL_EXPORTER_OTLP_LOGS_HEADERS` overrides it for one.
const OF_REQUESTS: &[(&str, Set<Requests>)] = &[
    ("COMPRESSION", |requests, name| put(&mut requests.compression, compression(name))),
    ("TIMEOUT", |requests, millis| put(&mut requests.timeout, duration(millis, 1))),
    ("PROTOCOL", |requests, name| put(&mut requests.protocol, protocol(name))),
    ("INSECURE", |requests, word| put(&mut requests.is_insecure, truth(word))),
];

/// Returns the field for a file.
type Place = fn(&mut Files) -> &mut Option<File>;

/// Files of TLS, by the end of their variables' names, as in [`OF_REQUESTS`].
const OF_FILES: [(&str, Place); 3] = [
    ("CERTIFICATE", |files| &mut files.roots),
    ("CLIENT_CERTIFICATE", |files| &mut files.certificate),
    ("CLIENT_KEY", |files| &mut files.key),
];

/// Variables of the resource. A later variable overrides an earlier one.
const OF_RESOURCE: [(&str, Set<Otlp>); 2] = [
    ("OTEL_RESOURCE_ATTRIBUTES", resource),
    (SERVICE_NAME, |options, name| {
        *options = options.clone().service_name(name);
        Ok(())
    }),
];

/// Variables of the limits. The general ones come first, so that the specific ones override them.
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
        put(&mut limits.spans.attributes.count, limit(number))
    }),
    ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", |limits, number| {
        put(&mut limits.spans.attributes.length, limit(number))
    }),
    ("OTEL_SPAN_EVENT_COUNT_LIMIT", |limits, number| put(&mut limits.spans.events, limit(number))),
    ("OTEL_SPAN_LINK_COUNT_LIMIT", |limits, number| put(&mut limits.spans.links, limit(number))),
    ("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", |limits, number| {
        put(&mut limits.spans.event_attributes, limit(number))
    }),
    ("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", |limits, number| {
        put(&mut limits.spans.link_attributes, limit(number))
    }),
    ("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", |limits, number| {
        put(&mut limits.records.count, limit(number))
    }),
    ("OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT", |limits, number| {
        put(&mut limits.records.length, limit(number))
    }),
];

const TEMPORALITY: &str = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";

impl Signal {
    /// Returns the signal's name within the names of variables.
    fn in_variables(self) -> &'static str {
        match self {
            Self::Logs => "LOGS",
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
        }
    }

    /// Returns the variable of the signal for an option of the requests.
    fn variable(self, name: &str) -> String {
        format!("OTEL_EXPORTER_OTLP_{}_{name}", self.in_variables())
    }

    /// Returns the variable that names the signal's exporters.
    fn exporter(self) -> String {
        format!("OTEL_{}_EXPORTER", self.in_variables())
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

/// Sets options to the values of the variables, which `variable` looks up. Ignores a variable whose
/// value can't be used, and adds it to [`Otlp::ignored_variables`].
pub(super) fn apply(mut options: Otlp, variable: impl Fn(&str) -> Option<OsString>) -> Otlp {
    // An empty variable counts as unset.
    let find = |name: &str| {
        let value = variable(name).filter(|value| !value.is_empty());
        value.map(|value| (name.to_owned(), value))
    };
    options.proxies = Proxies::of_variables(&variable);
    let disabled = find("OTEL_SDK_DISABLED");
    let disable: Set<Otlp> = |options, word| put(&mut options.is_disabled, truth(word));
    let fault = set_to(&mut options, disable, disabled);
    options.ignored.extend(fault);
    for signal in Signal::ALL {
        let requests = options.requests_mut(signal);
        let base = find("OTEL_EXPORTER_OTLP_ENDPOINT").map(|found| (found, false));
        let whole = find(&signal.variable("ENDPOINT")).map(|found| (found, true));
        if let Some(((name, url), is_whole)) = whole.or(base) {
            let url = url.to_string_lossy();
            requests.endpoint = Endpoint::of_variable(&name, url.trim(), is_whole);
        }
        let of_signal = |name: &str| {
            let general = || find(&format!("OTEL_EXPORTER_OTLP_{name}"));
            find(&signal.variable(name)).or_else(general)
        };
        for (name, set) in OF_REQUESTS {
            let found = of_signal(name);
            let fault = set_to(requests, *set, found);
            requests.ignored.extend(fault);
        }
        if let Some((name, list)) = of_signal("HEADERS") {
            headers(requests, &name, &list.to_string_lossy());
        }
        for (name, file) in OF_FILES {
            if let Some((variable, path)) = of_signal(name) {
                *file(&mut requests.files) = Some(File::of(&variable, path.as_ref()));
            }
        }
        let exporter = signal.exporter();
        for (name, set) in [(signal.delay(), delay as Set<Requests>), (&exporter, sent)] {
            let fault = set_to(requests, set, find(name));
            requests.ignored.extend(fault);
        }
    }
    let set: Set<Otlp> = |options, name| put(&mut options.temporality, temporality(name));
    let fault = set_to(&mut options, set, find(TEMPORALITY));
    options.requests_mut(Signal::Metrics).ignored.extend(fault);
    for (name, set) in OF_RESOURCE {
        let fault = set_to(&mut options, set, find(name));
        options.ignored.extend(fault);
    }
    for (name, set) in OF_LIMITS {
        let fault = set_to(&mut options.limits, set, find(name));
        options.ignored.extend(fault);
    }
    options
}

/// Sets an option to the value of a variable, if the variable is set. Returns a fault if the value
/// can't be used.
fn set_to<O>(options: &mut O, set: Set<O>, found: Option<(String, OsString)>) -> Option<Fault> {
    let (name, value) = found?;
    let done = match value.to_str() {
        Some(value) => set(options, value.trim()),
        None => Err("it must be Unicode"),
    };
    done.err().map(|reason| Fault::new(&name, &value.to_string_lossy(), reason))
}

/// Adds the headers of a list. Leaves out the pairs that can't be used.
fn headers(requests: &mut Requests, variable: &str, list: &str) {
    for (at, pair) in (1..).zip(pairs(list)) {
        let header = pair.and_then(|(name, value)| {
            let header = (name, Secret::new(value));
            known_header(&header).map_err(|_| "such a header can't stand in a request")?;
            Ok(header)
        });
        match header {
            Ok((name, value)) => requests.header(&name, value.expose()),
            Err(reason) => {
                // Name the pair by its position: its value may be a secret, and an invalid name may
                // be a value.
                let reason = format!("pair {at} of it is left out: {reason}");
                requests.ignored.push(Fault::new(variable, "", reason));
            }
        }
    }
}

fn truth(word: &str) -> Result<bool, &'static str> {
    match &*word.to_ascii_lowercase() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("it must be true or false"),
    }
}

/// Leaves the signal out if its list of exporters is `none`.
fn sent(requests: &mut Requests, list: &str) -> Result<(), &'static str> {
    let list = list.to_ascii_lowercase();
    let mut names = list.split(',').map(str::trim);
    if names.clone().any(|name| name == "otlp") {
        return Ok(());
    }
    if !names.all(|name| name == "none") {
        return Err("it must be otlp or none; other exporters are not known");
    }
    requests.is_left_out = true;
    Ok(())
}

fn resource(options: &mut Otlp, list: &str) -> Result<(), &'static str> {
    // OpenTelemetry's specification asks to discard the whole value for one fault.
    for (key, value) in pairs(list).collect::<Result<Vec<_>, _>>()? {
        *options = options.clone().attribute(&key, &*value);
    }
    Ok(())
}

/// Returns the compression with this name.
///
/// # Errors
///
/// With the names that can be used.
pub fn compression(name: &str) -> Result<Compression, &'static str> {
    match &*name.to_ascii_lowercase() {
        "gzip" => Ok(Compression::Gzip),
        "none" => Ok(Compression::None),
        _ => Err("it must be gzip or none"),
    }
}

fn delay(requests: &mut Requests, millis: &str) -> Result<(), &'static str> {
    let least = u64::from(requests.signal == Signal::Metrics);
    put(&mut requests.max_delay, duration(millis, least))
}

/// Returns the temporality with this name.
///
/// # Errors
///
/// With the names that can be used.
pub fn temporality(name: &str) -> Result<Temporality, &'static str> {
    match &*name.to_ascii_lowercase() {
        "cumulative" => Ok(Temporality::Cumulative),
        "delta" | "lowmemory" => Ok(Temporality::Delta),
        _ => Err("it must be cumulative, delta or lowmemory"),
    }
}

fn duration(millis: &str, least: u64) -> Result<Duration, &'static str> {
    match millis.parse() {
        Ok(millis) if millis >= least => Ok(Duration::from_millis(millis)),
        Ok(_) => Err("it must be a number of milliseconds, and at least 1"),
        Err(_) => Err("it must be a number of milliseconds"),
    }
}

/// Sets an option to a value, if there is one.
fn put<T>(option: &mut T, value: Result<T, &'static str>) -> Result<(), &'static str> {
    *option = value?;
    Ok(())
}

fn limit<N: FromStr>(number: &str) -> Result<N, &'static str> {
    number.parse().map_err(|_| "it must be a number of at least 0")
}

/// Returns the protocol with this name.
///
/// # Errors
///
/// With the names that can be used.
pub fn protocol(name: &str) -> Result<Protocol, &'static str> {
    Ok(match &*name.to_ascii_lowercase() {
        "http/protobuf" => Protocol::HttpProtobuf,
        "grpc" if cfg!(feature = "grpc") => Protocol::Grpc,
        "grpc" => {
            return Err(
                "it must be http/protobuf, for which a collector listens on port 4318; grpc needs \
                 the feature grpc of tach-otlp",
            );
        }
        _ => return Err("it must be http/protobuf or grpc"),
    })
}

/// Returns the keys and the values of a list such as `key=value,other=a%20b`.
fn pairs(list: &str) -> impl Iterator<Item = Result<(String, String), &'static str>> {
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').ok_or("it must be a list such as key=value,k=v")?;
        let decode = |text: &str| {
            let decoded = percent_decode_str(text.trim()).decode_utf8();
            decoded.map(String::from).map_err(|_| "its escapes such as %20 must be UTF-8")
        };
        Ok((decode(key)?, decode(value)?))
    };
    list.split(',').map(str::trim).filter(|text| !text.is_empty()).map(pair)
}

#[cfg(test)]
mod tests;
