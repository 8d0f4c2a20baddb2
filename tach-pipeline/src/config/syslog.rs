//! The keys of a syslog daemon.

#[cfg(unix)]
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};

use super::read::{self, Check, NoOptions, at_most_one, set, turn_on};
use crate::sink::{Facility, Syslog};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a daemon, such as `at`")]
pub(super) struct SyslogKeys {
    #[serde(deserialize_with = "read::choice")]
    at: At,
    rfc3164: Option<bool>,
    rfc5424: Option<bool>,
    #[serde(default)]
    lf_framing: bool,
    facility: Option<Facility>,
    app_name: Option<String>,
    host_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum At {
    #[cfg(unix)]
    Local(NoOptions),
    #[cfg(unix)]
    Unix(#[serde(deserialize_with = "path")] PathBuf),
    Udp(#[serde(deserialize_with = "udp")] String),
    Tcp(#[serde(deserialize_with = "tcp")] String),
}

#[cfg(unix)]
fn path<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    read::text(from, "a path, as in `at.unix = \"/run/log\"`").map(PathBuf::from)
}

fn udp<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    read::text(from, "an address, as in `at.udp = \"host:514\"`")
}

fn tcp<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    read::text(from, "an address, as in `at.tcp = \"host:514\"`")
}

impl Check for SyslogKeys {
    fn check(&self) -> Result<(), String> {
        match (self.rfc3164, self.rfc5424) {
            (Some(false), Some(false)) => {
                Err("`rfc3164` and `rfc5424` are both `false`, expected one of them".to_owned())
            }
            (old, new) => {
                at_most_one(&[("rfc3164", old == Some(true)), ("rfc5424", new == Some(true))])
            }
        }
    }
}

impl SyslogKeys {
    pub(super) fn syslog(self) -> Syslog {
        let syslog = match self.at {
            #[cfg(unix)]
            At::Local(NoOptions {}) => Syslog::local(),
            #[cfg(unix)]
            At::Unix(path) => Syslog::unix(path),
            At::Udp(address) => Syslog::udp(&address),
            At::Tcp(address) => Syslog::tcp(&address),
        };
        // There are two versions, so `false` at one of them is the other.
        let syslog = match self.rfc5424.or(self.rfc3164.map(|is_old| !is_old)) {
            Some(true) => syslog.rfc5424(),
            Some(false) => syslog.rfc3164(),
            None => syslog,
        };
        let syslog = turn_on(syslog, self.lf_framing, Syslog::lf_framing);
        let syslog = set(syslog, self.facility, Syslog::facility);
        let syslog = set(syslog, self.app_name.as_deref(), Syslog::app_name);
        set(syslog, self.host_name.as_deref(), Syslog::host_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_a_method() {
        let cases = [
            (
                "at.tcp = 'logs:514'\nlf_framing = true\nhost_name = 'a'",
                Syslog::tcp("logs:514").lf_framing().host_name("a"),
            ),
            (
                "at = { udp = 'logs:514' }\nrfc3164 = true\nfacility = 'local3'",
                Syslog::udp("logs:514").rfc3164().facility(Facility::Local3),
            ),
            #[cfg(unix)]
            (
                "at = 'local'\nrfc5424 = true\napp_name = 'shop'",
                Syslog::local().rfc5424().app_name("shop"),
            ),
            ("at.udp = 'a:514'\nrfc5424 = false", Syslog::udp("a:514").rfc3164()),
            ("at.udp = 'a:514'\nrfc3164 = false", Syslog::udp("a:514").rfc5424()),
            #[cfg(unix)]
            ("at = 'local'\nrfc3164 = false", Syslog::local().rfc5424()),
            #[cfg(unix)]
            ("at.unix = '/run/log'", Syslog::unix("/run/log")),
        ];
        for (text, expected) in cases {
            let keys: SyslogKeys = toml::from_str(text).unwrap();
            assert_eq!(keys.syslog(), expected, "{text}");
        }
    }
}
