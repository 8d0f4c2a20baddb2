//! Encodes durations of spans as a metric of OTLP, in protobuf
//! (<https://github.com/open-telemetry/opentelemetry-proto>, `metrics.proto`).
//!
//! The metric's name and the attribute `span.name` are the same as in the Collector's connector
//! `spanmetrics`.

use tach_core::UnixTime;
use tach_log::Value;

use crate::durations::Collected;
use crate::durations::histogram::Histogram;
use crate::durations::key::Key;
use tach_otlp::adapter::key_value;
use tach_otlp::adapter::protobuf::{bytes, fixed_64, message, number, varint};
use tach_otlp::encode::in_scope;

/// The numbers of the messages' fields.
mod field {
    pub(super) const NAME: u32 = 1;
    pub(super) const DESCRIPTION: u32 = 2;
    pub(super) const UNIT: u32 = 3;
    pub(super) const EXPONENTIAL_HISTOGRAM: u32 = 10;
    pub(super) const DATA_POINTS: u32 = 1;
    pub(super) const TEMPORALITY: u32 = 2;
    pub(super) const ATTRIBUTES: u32 = 1;
    pub(super) const START_TIME: u32 = 2;
    pub(super) const TIME: u32 = 3;
    pub(super) const COUNT: u32 = 4;
    pub(super) const SUM: u32 = 5;
    pub(super) const SCALE: u32 = 6;
    pub(super) const ZERO_COUNT: u32 = 7;
    pub(super) const POSITIVE: u32 = 8;
    pub(super) const MIN: u32 = 12;
    pub(super) const MAX: u32 = 13;
    pub(super) const OFFSET: u32 = 1;
    pub(super) const BUCKET_COUNTS: u32 = 2;
}

const METRIC: &str = "traces.span.metrics.duration";
/// The specification exempts metrics from the limits of attributes.
const NO_LIMIT: usize = usize::MAX;
const NS_PER_S: f64 = 1e9;

/// Appends a `ScopeMetrics` for each metric, with the durations of all its series until `now`, as a
/// field of `ResourceMetrics`, in `scope`.
pub fn write_durations(
    to: &mut Vec<u8>,
    durations: &Collected,
    is_delta: bool,
    now: UnixTime,
    scope: &str,
) {
    let table = durations.lock();
    // The clock may have been set back.
    let times = (table.start(is_delta).min(now), now);
    for metric in table.metrics(is_delta) {
        in_scope(to, scope, |to| {
            bytes(to, field::NAME, metric.unwrap_or(METRIC).as_bytes());
            if metric.is_none() {
                bytes(to, field::DESCRIPTION, b"How long spans take.");
            }
            bytes(to, field::UNIT, b"s");
            message(to, field::EXPONENTIAL_HISTOGRAM, |to| {
                table.points(metric, is_delta, |key, histogram| {
                    message(to, field::DATA_POINTS, |to| {
                        attributes(to, metric, key, durations.attributes());
                        fixed_64(to, field::START_TIME, times.0.as_nanos());
                        fixed_64(to, field::TIME, times.1.as_nanos());
                        write_histogram(to, histogram);
                    });
                });
                number(to, field::TEMPORALITY, if is_delta { 1 } else { 2 });
            });
        });
    }
}

fn attributes(to: &mut Vec<u8>, metric: Option<&str>, key: &Key, keys: &[String]) {
    let mut attribute =
        |key: &str, value| message(to, field::ATTRIBUTES, |to| key_value(to, key, value, NO_LIMIT));
    if key.is_of_others() {
        return attribute("otel.metric.overflow", Value::Bool(true));
    }
    if metric.is_none() {
        attribute("span.name", Value::Str(key.name()));
    }
    for (key, value) in keys.iter().zip(key.values()) {
        if let Some(value) = value {
            attribute(key, value);
        }
    }
}

fn write_histogram(to: &mut Vec<u8>, histogram: &Histogram) {
    let seconds = |to: &mut Vec<u8>, number, ns: u128| {
        #[expect(clippy::cast_precision_loss, reason = "the nearest number of seconds")]
        fixed_64(to, number, (ns as f64 / NS_PER_S).to_bits());
    };
    fixed_64(to, field::COUNT, histogram.count);
    seconds(to, field::SUM, histogram.sum_ns);
    number(to, field::SCALE, u64::from(histogram.scale) << 1);
    if histogram.zeros > 0 {
        fixed_64(to, field::ZERO_COUNT, histogram.zeros);
    }
    message(to, field::POSITIVE, |to| {
        number(to, field::OFFSET, zigzag(histogram.first));
        message(to, field::BUCKET_COUNTS, |to| {
            histogram.counts.iter().for_each(|&count| varint(to, count));
        });
    });
    seconds(to, field::MIN, histogram.min_ns.into());
    seconds(to, field::MAX, histogram.max_ns.into());
}

/// Encodes a `sint32` as an unsigned number, in which values near zero, positive or negative, take
/// few bytes.
fn zigzag(value: i32) -> u64 {
    let bits = value << 1 ^ value >> (i32::BITS - 1);
    u64::from(u32::from_ne_bytes(bits.to_ne_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_alternate() {
        let all = [0, -1, 1, -2, i32::MAX, i32::MIN];
        assert_eq!(all.map(zigzag), [0, 1, 2, 3, 0xffff_fffe, 0xffff_ffff]);
    }
}
