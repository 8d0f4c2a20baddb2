//! tracing-subscriber's tests of layers and formats, with tach-tracing's `EventTime` around
//! each layer, and with its timers.

use super::source::Source;
use super::taken::File;
use super::{Expected, Form, Peer};

/// A program in the folder `tests`, without its inner attributes, which can't be included.
const fn program(
    from: &'static str,
    to: &'static str,
    substitutions: &'static [(&'static str, &'static str)],
) -> File {
    File { begin: Some("use "), ..File::whole(from, to, substitutions) }
}

/// A module `test` at the end of a file.
const fn test_of(
    from: &'static str,
    to: &'static str,
    substitutions: &'static [(&'static str, &'static str)],
) -> File {
    File { begin: Some("mod test {"), ..File::whole(from, to, substitutions) }
}

/// Ignored because other threads would disturb them. Here the tests have one thread.
const FLAKY: (&str, &str) = ("#[cfg_attr(not(flaky_tests), ignore)]\n", "");

const TIME: (&str, &str) = ("fake time", "2026-11-21T13:48:46.884123Z");
const TIMER: (&str, &str) =
    ("write!(w, \"fake time\")", "tach_tracing::Utc.with_clock(&crate::CLOCK).format_time(w)");
const UPTIME: (&str, &str) =
    ("with_timer(time::Uptime::default())", "with_timer(tach_tracing::Uptime)");

pub(super) const PEER: Peer = Peer {
    name: "tracing-subscriber",
    source: Source::Registry("tracing-subscriber"),
    form: Form::Names,
    taken: &[
        File::whole(
            "src/layer/tests.rs",
            "layer_tests.rs",
            &[
                ("use super::*;\nuse tracing_core", "use tracing_core"),
                (".with_subscriber(", ".timed_with_subscriber("),
            ],
        ),
        test_of("src/fmt/mod.rs", "fmt.rs", &[UPTIME]),
        test_of(
            "src/fmt/fmt_layer.rs",
            "fmt_layer.rs",
            &[
                TIME,
                UPTIME,
                ("fmt.with_subscriber(", "fmt.timed_with_subscriber("),
                ("reloadable_layer.with_subscriber(", "reloadable_layer.timed_with_subscriber("),
                // A private field.
                ("layer.is_ansi", "is_ansi(&layer)"),
            ],
        ),
        File {
            begin: Some("pub(super) mod test {"),
            left_out: &[("format_nanos", "durations that the peer's own layer prints")],
            ..File::whole(
                "src/fmt/format/mod.rs",
                "fmt_format.rs",
                &[
                    TIMER,
                    TIME,
                    // Replace the digits of the expected text too, which has a time.
                    (
                        "assert_eq!(expected, result_cleaned)",
                        "assert_eq!(regex.replace_all(expected, \"NUMERIC\"), result_cleaned)",
                    ),
                    // A private method.
                    ("f.contains(", "contains(&f, "),
                    // A private type, of the test that is left out.
                    ("TimingDisplay(t)", "t"),
                    // The file is elsewhere.
                    (
                        "Path::new(\"tracing-subscriber\")\n            .join(\"src\")\n            \
                         .join(\"fmt\")\n            .join(\"format\")\n            .join(\"mod.rs\")",
                        "Path::new(file!())",
                    ),
                ],
            )
        },
        test_of(
            "src/fmt/format/json.rs",
            "fmt_json.rs",
            &[
                TIMER,
                TIME,
                (
                    "Path::new(\"tracing-subscriber\")\n            .join(\"src\")\n            \
                     .join(\"fmt\")\n            .join(\"format\")\n            .join(\"json.rs\")",
                    "Path::new(file!())",
                ),
            ],
        ),
        program(
            "tests/cached_layer_filters_dont_break_other_layers.rs",
            "cached_layer_filters_dont_break_other_layers.rs",
            &[],
        ),
        program(
            "tests/env_filter/main.rs",
            "env_filter.rs",
            &[
                // The test names the program that it is a module of.
                ("\"env_filter\"", "module_path!()"),
                ("[more_specific", "[programs::env_filter::more_specific"),
            ],
        ),
        program("tests/env_filter/per_layer.rs", "env_filter_per_layer.rs", &[]),
        program("tests/event_enabling.rs", "event_enabling.rs", &[]),
        program("tests/field_filter.rs", "field_filter.rs", &[FLAKY]),
        program(
            "tests/filter_log.rs",
            "filter_log.rs",
            &[("\"filter_log::my_module", "\"tracing_subscriber::programs::filter_log::my_module")],
        ),
        program(
            "tests/hinted_layer_filters_dont_break_other_layers.rs",
            "hinted_layer_filters_dont_break_other_layers.rs",
            &[],
        ),
        program(
            "tests/layer_filter_interests_are_cached.rs",
            "layer_filter_interests_are_cached.rs",
            &[],
        ),
        program("tests/layer_filters/main.rs", "layer_filters.rs", &[]),
        program("tests/layer_filters/boxed.rs", "layer_filters_boxed.rs", &[]),
        program("tests/layer_filters/downcast_raw.rs", "layer_filters_downcast_raw.rs", &[]),
        program("tests/layer_filters/filter_scopes.rs", "layer_filters_filter_scopes.rs", &[]),
        program("tests/layer_filters/option.rs", "layer_filters_option.rs", &[]),
        program("tests/layer_filters/per_event.rs", "layer_filters_per_event.rs", &[]),
        program("tests/layer_filters/targets.rs", "layer_filters_targets.rs", &[]),
        program("tests/layer_filters/trees.rs", "layer_filters_trees.rs", &[]),
        program("tests/layer_filters/vec.rs", "layer_filters_vec.rs", &[]),
        program(
            "tests/multiple_layer_filter_interests_cached.rs",
            "multiple_layer_filter_interests_cached.rs",
            &[],
        ),
        program(
            "tests/on_register_dispatch_is_called.rs",
            "on_register_dispatch_is_called.rs",
            &[],
        ),
        program("tests/option.rs", "option.rs", &[]),
        program(
            "tests/option_filter_interest_caching.rs",
            "option_filter_interest_caching.rs",
            &[],
        ),
        program("tests/registry_max_level_hint.rs", "registry_max_level_hint.rs", &[]),
        program("tests/registry_span_instrument_drop.rs", "registry_span_instrument_drop.rs", &[]),
        program(
            "tests/reload.rs",
            "reload.rs",
            &[(".with_subscriber(", ".timed_with_subscriber(")],
        ),
        program("tests/reload_max_log_level.rs", "reload_max_log_level.rs", &[]),
        program("tests/same_len_filters.rs", "same_len_filters.rs", &[]),
        program(
            "tests/unhinted_layer_filters_dont_break_other_layers.rs",
            "unhinted_layer_filters_dont_break_other_layers.rs",
            &[],
        ),
        program("tests/vec.rs", "vec.rs", &[]),
        program(
            "tests/vec_subscriber_filter_interests_cached.rs",
            "vec_subscriber_filter_interests_cached.rs",
            &[],
        ),
    ],
    left_out: &[
        ("src/field/", "fields have no timer and no layer"),
        ("src/filter/", "how filters are parsed"),
        ("src/fmt/time/", "the peer's own timers"),
        ("src/fmt/writer.rs", "writers have no timer and no layer"),
        ("src/registry/", "the registry's own storage"),
        ("tests/ansi_escaping.rs", "escapes in messages, without a timer"),
        ("tests/duplicate_spans.rs", "the peer's own subscriber, without a layer"),
        ("tests/fmt_max_level_hint.rs", "the peer's own subscriber, without a layer"),
        ("tests/registry_with_subscriber.rs", "the registry alone, without a layer"),
        ("tests/layer_filters/combinators.rs", "in no program of the peer's, and out of date"),
        ("tests/utils.rs", "subscribers that become the process's own"),
    ],
    filters: &[],
    alone: &[
        "filter_log::",
        "layer_filter_interests_are_cached::",
        "multiple_layer_filter_interests_cached::",
        "option_filter_interest_caching::",
        "registry_max_level_hint::",
        "reload_max_log_level::",
        "vec_subscriber_filter_interests_cached::",
    ],
    expected: Expected { passed: 169, differences: &[] },
};
