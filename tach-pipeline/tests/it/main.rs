//! The pipeline, as its users see it.

mod allocation;
#[cfg(feature = "config")]
mod apply;
mod auto_traits;
#[cfg(unix)]
mod colors;
#[cfg(feature = "config")]
mod config;
mod corpus;
mod cut;
mod days;
#[cfg(feature = "tracing")]
mod durations;
mod environment;
mod exits;
#[cfg(unix)]
mod fault_loop;
mod faults;
mod files;
mod filters;
#[cfg(feature = "tracing")]
mod flight;
mod formats;
mod front;
mod full;
mod globals;
mod incidents;
#[cfg(unix)]
mod init;
#[cfg(target_os = "linux")]
mod injected;
mod journal;
#[cfg(unix)]
mod local_days;
mod lost;
mod nested;
mod one_key;
mod order;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "tracing")]
mod own_subscriber;
#[cfg(unix)]
mod pipes;
#[cfg(target_os = "linux")]
mod power_loss;
#[cfg(all(feature = "slog", feature = "tracing"))]
mod presets;
#[cfg(unix)]
mod privileged;
#[cfg(all(feature = "syslog", target_os = "linux"))]
mod readers;
#[cfg(feature = "otlp")]
mod reentrance;
mod refused;
#[cfg(feature = "tracing")]
mod same_lines;
#[cfg(feature = "otlp")]
mod secrets;
mod selection;
mod several;
#[cfg(unix)]
mod shared;
mod sites;
#[cfg(unix)]
mod strangers;
#[cfg(feature = "tracing")]
mod subscribers;
mod support;
#[cfg(feature = "syslog")]
mod syslog;
#[cfg(unix)]
mod tailers;
mod testing;
#[cfg(feature = "tracing")]
mod traces;
mod values;
