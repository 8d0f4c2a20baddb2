//! Bounds on what a client may choose, and time that is linear in the keys.

use core::fmt;
use core::hint::black_box;
use core::time::Duration;

use log::Record;
use log::kv::Value;
use tach_core::ThreadCpuInstant;
use tach_log::{Format, Json, Line, Logfmt};

use crate::written::{Written, written_fields};

fn parsed(written: &Written) -> serde_json::Map<String, serde_json::Value> {
    serde_json::from_str(&format!("{{{}}}", written.json.trim_start_matches(','))).unwrap()
}

#[test]
fn fields_beyond_the_bound_are_counted() {
    let keys: Vec<_> = (0..1_100).map(|number| format!("key{number:04}")).collect();
    let fields: Vec<_> = keys.iter().map(|key| (key.as_str(), "value")).collect();
    let written = written_fields(&fields.as_slice());
    let event = parsed(&written);
    assert_eq!(event.len(), 1_024 + 1);
    assert_eq!(event["key1023"], "value");
    // The length of the key and the text of each field that is missing.
    assert_eq!(event["truncated_bytes"], (1_100 - 1_024) * (7 + 5));
    assert!(written.logfmt.ends_with(" truncated_bytes=912"), "{}", written.logfmt);
    assert!(written.line.ends_with(" truncated_bytes=912"), "{}", written.line);
    let within = written_fields(&&fields[..1_024]);
    assert_eq!(parsed(&within).len(), 1_024);
}

#[test]
fn a_long_key_is_cut_and_stays_unlike_the_others() {
    let long = ["x".repeat(300), "x".repeat(299) + "y", "ä".repeat(129)];
    let fields = [(&*long[0], 1), (&*long[1], 2), (&*long[2], 3), ("k", 4)];
    let event = parsed(&written_fields(&fields));
    assert_eq!(event.len(), 4 + 1);
    assert!(event.keys().all(|key| key.len() < 270), "{event:?}");
    assert_eq!(event.keys().filter(|key| key.starts_with(&"x".repeat(256))).count(), 2);
    assert_eq!(event["truncated_bytes"], 44 + 44 + 2);
}

#[test]
fn the_count_and_a_field_of_that_name_both_stand() {
    let long = "x".repeat(300);
    let fields = [("truncated_bytes", 1), (&*long, 2), ("truncated_bytes_", 3)];
    let event = parsed(&written_fields(&fields));
    assert_eq!((&event["truncated_bytes"], &event["truncated_bytes_"]), (&1.into(), &3.into()));
    assert_eq!(event["truncated_bytes_2"], 44);
}

#[cfg(feature = "serde")]
#[test]
fn a_value_is_cut_below_64_levels() {
    let nested = |levels| {
        let mut value = serde_json::json!("[{");
        for level in 0..levels {
            value = match level % 2 {
                0 => serde_json::json!([1, value]),
                _ => serde_json::json!({ "k": value, "l": 2 }),
            };
        }
        value
    };
    let write = |value: &serde_json::Value| {
        let fields = [("v", Value::from_serde(value)), ("behind", Value::from(1))];
        let event = parsed(&written_fields(&fields));
        assert_eq!(event["behind"], 1);
        event
    };
    let value = nested(64);
    assert_eq!(write(&value)["v"], value);
    assert_eq!(write(&value).get("truncated_bytes"), None);
    let event = write(&nested(90));
    let depth = |json: &str| {
        let mut depth = 0_usize;
        let depths = json.replace("[{", "").into_bytes().into_iter().map(move |byte| {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            depth
        });
        depths.max().unwrap()
    };
    let text = event["v"].to_string();
    assert_eq!((depth(&text), text.matches("\"…\"").count()), (64, 1), "{text}");
    let lost = nested(90 - 64).to_string().len();
    assert_eq!(event["truncated_bytes"], lost);
}

/// Returns the CPU time of `f`, or zero if the system does not measure it.
fn cpu_time(f: impl FnOnce()) -> Duration {
    let start = ThreadCpuInstant::now();
    f();
    start.map_or(Duration::ZERO, |start| start.elapsed())
}

/// Returns how long `format` takes for a record with the keys; the shortest of several times.
fn shortest(format: &impl Format, keys: &[String]) -> Duration {
    let fields: Vec<_> = keys.iter().map(|key| (key.as_str(), 1)).collect();
    let fields = fields.as_slice();
    let time = |_| {
        let mut line = Vec::new();
        let record = Record::builder().key_values(&fields).build();
        cpu_time(|| tach_log::write(format)(&mut line, &record).unwrap())
    };
    (0..3).map(time).min().unwrap()
}

/// Returns whether ten times the keys take at most 15 times as long, at one of several attempts:
/// quadratic time would take 100 times as long.
fn is_linear(short: impl Fn() -> Duration, long: impl Fn() -> Duration) -> bool {
    (0..5).any(|_| {
        let short = short();
        short.is_zero() || long() < 15 * short
    })
}

#[test]
fn time_is_linear_in_the_keys() {
    let distinct = |at: usize| format!("key_{at}");
    let equal = |at: usize| format!("k{}", at % 2);
    // All keys become one in logfmt.
    let alike = |at: usize| {
        (0..8).map(|digit| ['"', '=', ' ', '\\'][at >> (2 * digit) & 3]).collect::<String>()
    };
    let sets: [&dyn Fn(usize) -> String; 3] = [&distinct, &equal, &alike];
    for (set, key) in sets.into_iter().enumerate() {
        for (few, many) in [(90, 900), (2_000, 20_000)] {
            let [few, many] = [few, many].map(|count| (0..count).map(key).collect::<Vec<_>>());
            let formats: [&dyn Format; 6] = [
                &Json::new(),
                &Logfmt::new(),
                &Line::new(),
                &Json::ecs(),
                &Json::google_cloud(),
                &Logfmt::new().with("v", 1),
            ];
            for (at, format) in formats.iter().enumerate() {
                let is_linear = is_linear(|| shortest(format, &few), || shortest(format, &many));
                assert!(is_linear, "format {at}, keys {set}, {}", many.len());
            }
        }
    }
}

/// The positive control.
#[test]
fn quadratic_time_is_found() {
    let time = |count: u64| {
        cpu_time(|| {
            for at in 0..count {
                black_box((0..count).map(black_box).filter(|&other| other == at).count());
            }
        })
    };
    let is_measured = !time(2_000).is_zero();
    assert!(!is_measured || !is_linear(|| time(200), || time(2_000)));
}

/// Each of the keys is the name that the one before would get.
#[test]
fn keys_that_claim_the_names_of_others_cost_no_more_than_others() {
    let keys =
        |name: &str| (0..200).map(|at| name.to_owned() + &"_".repeat(at)).collect::<Vec<_>>();
    let (hostile, harmless) = (keys("level"), keys("label"));
    let formats: [&dyn Format; 3] = [&Json::new(), &Logfmt::new(), &Json::new().with("v", 1)];
    for (at, format) in formats.iter().enumerate() {
        let is_linear = is_linear(|| shortest(format, &harmless), || shortest(format, &hostile));
        assert!(is_linear, "format {at}");
    }
}

/// An error whose sources stand under a name that another field has.
#[test]
fn many_errors_are_named_in_linear_time() {
    #[derive(Debug)]
    struct Failed(fmt::Error);
    impl fmt::Display for Failed {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("failed")
        }
    }
    impl core::error::Error for Failed {
        fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
            Some(&self.0)
        }
    }
    let failed = Failed(fmt::Error);
    let error: &(dyn core::error::Error + 'static) = &failed;
    let fields = |count: usize| {
        let keys = (0..count).flat_map(|at| [format!("e{at}"), format!("e{at}_sources")]);
        keys.enumerate()
            .map(|(at, key)| match at % 2 {
                0 => (key, Value::from_dyn_error(error)),
                _ => (key, Value::from(1)),
            })
            .collect::<Vec<_>>()
    };
    let shortest = |count| {
        let fields = fields(count);
        let fields: Vec<_> = fields.iter().map(|(key, value)| (&**key, value)).collect();
        let time = |_| {
            let mut line = Vec::new();
            let fields = fields.as_slice();
            let record = Record::builder().key_values(&fields).build();
            let time = cpu_time(|| tach_log::write(Json::new())(&mut line, &record).unwrap());
            let text = String::from_utf8(line).unwrap();
            assert_eq!(text.contains("e3_sources_"), cfg!(feature = "serde"));
            time
        };
        (0..3).map(time).min().unwrap()
    };

    assert!(is_linear(|| shortest(50), || shortest(500)));
}
