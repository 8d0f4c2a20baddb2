//! The programs in tracing-subscriber's folder `tests`.

/// Includes programs, each with its modules.
macro_rules! tests {
    ($($name:ident { $($part:ident)* })*) => {$(
        mod $name {
            use crate::tracing_mock;

            $(
                mod $part {
                    use crate::tracing_mock;

                    include!(concat!(
                        env!("PEER_TESTS"), "/", stringify!($name), "_", stringify!($part), ".rs"
                    ));
                }
            )*

            include!(concat!(env!("PEER_TESTS"), "/", stringify!($name), ".rs"));
        }
    )*};
}

tests! {
    cached_layer_filters_dont_break_other_layers {}
    env_filter { per_layer }
    event_enabling {}
    field_filter {}
    filter_log {}
    hinted_layer_filters_dont_break_other_layers {}
    layer_filter_interests_are_cached {}
    layer_filters { boxed downcast_raw filter_scopes option per_event targets trees vec }
    multiple_layer_filter_interests_cached {}
    on_register_dispatch_is_called {}
    option {}
    option_filter_interest_caching {}
    registry_max_level_hint {}
    registry_span_instrument_drop {}
    reload {}
    reload_max_log_level {}
    same_len_filters {}
    unhinted_layer_filters_dont_break_other_layers {}
    vec {}
    vec_subscriber_filter_interests_cached {}
}
