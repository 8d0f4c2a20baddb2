//! The keys of a syslog daemon.

#[cfg(unix)]
use std::path::PathBuf;

use serde::Deserialize;

use super::read::{self, at_most_one, set, turn_on};
use crate::sink::{Facility, Syslog};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SyslogKeys {
    #[serde(deserialize_with = "read::choice")]
    at: At,
    #[serde(default)]
    rfc3164: bool,
    #[serde(default)]
    rfc5424: bool,
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
    Local {},
    #[cfg(unix)]
    Unix(PathBuf),
    Udp(String),
    Tcp(String),
}

impl SyslogKeys {
    /// # Errors
    ///
    /// If keys exclude each other.
    pub(super) fn syslog(self) -> Result<Syslog, String> {
        at_most_one(&[("rfc3164", self.rfc3164), ("rfc5424", self.rfc5424)])?;
        let syslog = match self.at {
            #[cfg(unix)]
            At::Local {} => Syslog::local(),
            #[cfg(unix)]
            At::Unix(path) => Syslog::unix(path),
            At::Udp(address) => Syslog::udp(&address),
            At::Tcp(address) => Syslog::tcp(&address),
        };
        let syslog = turn_on(syslog, self.rfc3164, Syslog::rfc3164);
        let syslog = turn_on(syslog, self.rfc5424, Syslog::rfc5424);
        let syslog = turn_on(syslog, self.lf_framing, Syslog::lf_framing);
        let syslog = set(syslog, self.facility, Syslog::facility);
        let syslog = set(syslog, self.app_name.as_deref(), Syslog::app_name);
        Ok(set(syslog, self.host_name.as_deref(), Syslog::host_name))
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
            #[cfg(unix)]
            ("at.unix = '/run/log'", Syslog::unix("/run/log")),
        ];
        for (text, expected) in cases {
            let keys: SyslogKeys = toml::from_str(text).unwrap();
            assert_eq!(keys.syslog().unwrap(), expected, "{text}");
        }
    }
}
