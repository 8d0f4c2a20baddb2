//! The keys of sinks.

use std::path::PathBuf;

#[cfg(feature = "otlp")]
use tach_otlp::Otlp;

use super::calls::{Calls, call, keys, number, turn_on};
use super::parsed::{Number, Parsed, Size, parsed};
use crate::pipeline::builder::Builder;
use crate::sink::{Sink, kind};
use tach_sinks::Rotation;
#[cfg(feature = "syslog")]
use tach_sinks::Syslog;

/// Adds the sinks of a list.
pub(super) fn add(builder: Builder, sinks: Vec<Calls<Sink>>) -> Builder {
    sinks.into_iter().enumerate().fold(builder, |builder, (at, keys)| {
        // Leave out the filter: if only the filter changes, the sink stays open.
        let written: Vec<_> = keys.written().filter(|(key, _)| *key != "filter").collect();
        let mut sink = keys.on(Sink::stderr().into());
        sink.common.written = Some(number(&written));
        sink.common.place = Some(format!("sinks[{at}]"));
        builder.sink(sink)
    })
}

keys! {
    Sink;
    needs stdout stderr stderr_or_journal file syslog journald otlp;
    either journald otlp format;
    makes {
        #[cfg(target_os = "linux")]
        journald = Sink::journald().into();
    }
    calls {
        stdout = |_, keys: Calls<Sink<_>>| keys.on(Sink::stdout()).into();
        stderr = |_, keys: Calls<Sink<_>>| keys.on(Sink::stderr()).into();
        stderr_or_journal = |_, keys: Calls<Sink<_>>| keys.on(Sink::stderr_or_journal()).into();
        file = |_, keys: Calls<Sink<_>>| keys.on(Sink::file("")).into();
        #[cfg(feature = "syslog")]
        syslog = |_, keys: Calls<Syslog>| Sink::syslog(keys.on(Syslog::udp(""))).into();
        #[cfg(feature = "otlp")]
        otlp = |_, keys: Calls<Otlp>| Sink::otlp(keys.on(Otlp::new())).into();
        format = |to: Self, keys: Calls<Option<_>>| {
            keys.on(None).into_iter().fold(to, Self::any_format)
        };
    }
    texts name filter;
    sizes buffer_bytes max_line_bytes;
    parsed stall_timeout;
}

keys! {
    Sink<kind::Stream>;
    calls {
        colors = |to: Self, is_on: bool| if is_on { to.colors() } else { to.without_colors() };
    }
}

keys! {
    Sink<kind::File>;
    needs path;
    calls {
        path = |_, Parsed(path): Parsed<PathBuf>| Sink::file(path);
        mode = |to: Self, Parsed(Octal(mode))| to.mode(mode);
        rotate = |to: Self, rotation: Calls<Rotation>| to.rotate(rotation.on(Rotation::new()));
    }
    values sync;
    flags keep_open;
}

keys! {
    Rotation;
    either daily hourly;
    values names;
    numbers keep;
    sizes max_bytes keep_bytes;
    parsed keep_for;
    flags daily hourly local_time at_start
        #[cfg(feature = "gzip")] gzip
        #[cfg(feature = "gzip")] delay_gzip;
}

/// The mode of a file.
#[derive(Hash)]
struct Octal(u32);

parsed! {
    Octal = |text: &str| u32::from_str_radix(text, 8).map(Octal),
        r#"an octal mode as a text, such as "640""#;
}

#[cfg(feature = "syslog")]
keys! {
    Syslog;
    needs local unix udp tcp;
    either rfc3164 rfc5424;
    makes {
        #[cfg(unix)]
        local = Self::local();
    }
    calls {
        #[cfg(unix)]
        unix = |_, Parsed(path): Parsed<PathBuf>| Self::unix(path);
        udp = |_, address: String| Self::udp(&address);
        tcp = |_, address: String| Self::tcp(&address);
    }
    texts app_name host_name;
    values facility;
    flags rfc3164 rfc5424 lf_framing;
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use tach_sinks::Names;

    #[test]
    fn a_switch_with_a_method_for_each_state_is_one_key() {
        let cases = [
            ("", Sink::stderr()),
            ("colors = true", Sink::stderr().colors()),
            ("colors = false", Sink::stderr().without_colors()),
        ];
        for (text, expected) in cases {
            let keys: Calls<Sink<kind::Stream>> = toml::from_str(text).unwrap();
            let sink = format!("{:?}", keys.on(Sink::stderr()));
            assert_eq!(sink, format!("{expected:?}"), "{text}");
        }
    }

    #[test]
    fn each_key_of_a_rotation_is_a_method() {
        let week = Duration::from_secs(7 * 24 * 60 * 60);
        let cases = [
            (
                "daily = true\nmax_bytes = 100_000\nkeep = 14",
                Rotation::new().daily().max_bytes(100_000).keep(14),
            ),
            (
                "hourly = true\nkeep_bytes = 1_000_000\nkeep_for = '7days'",
                Rotation::new().hourly().keep_bytes(1_000_000).keep_for(week),
            ),
            ("daily = true\nnames = 'dates'", Rotation::new().daily().names(Names::Dates)),
            (
                "daily = true\nnames = 'dates_before_extension'",
                Rotation::new().daily().names(Names::DatesBeforeExtension),
            ),
            ("at_start = true\ndaily = false", Rotation::new().at_start()),
            ("daily = true\nlocal_time = true", Rotation::new().daily().local_time()),
            #[cfg(feature = "gzip")]
            (
                "daily = true\nnames = 'numbers'\ngzip = true\ndelay_gzip = true",
                Rotation::new().daily().names(Names::Numbers).gzip().delay_gzip(),
            ),
        ];
        for (text, expected) in cases {
            let keys: Calls<Rotation> = toml::from_str(text).unwrap();
            assert_eq!(keys.on(Rotation::new()), expected, "{text}");
        }
    }

    #[cfg(feature = "syslog")]
    #[test]
    fn each_key_of_a_daemon_is_a_method() {
        let cases = [
            (
                "tcp = 'logs:514'\nlf_framing = true\nhost_name = 'a'",
                Syslog::tcp("logs:514").lf_framing().host_name("a"),
            ),
            (
                "udp = 'logs:514'\nrfc3164 = true\nfacility = 'local3'",
                Syslog::udp("logs:514").rfc3164().facility(crate::Facility::Local3),
            ),
            #[cfg(unix)]
            (
                "local = true\nrfc5424 = true\napp_name = 'shop'",
                Syslog::local().rfc5424().app_name("shop"),
            ),
            #[cfg(unix)]
            ("unix = '/run/log'", Syslog::unix("/run/log")),
        ];
        for (text, expected) in cases {
            let keys: Calls<Syslog> = toml::from_str(text).unwrap();
            assert_eq!(keys.on(Syslog::udp("")), expected, "{text}");
        }
    }
}
