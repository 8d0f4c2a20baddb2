//! Messages of syslog: RFC 5424 through the crate `syslog_fmt`, and RFC 3164.

mod socket;

use std::io::{self, Write as _};
use std::process;

use syslog_fmt::v5424::{self, Timestamp};
use tach_core::UnixTime;
use tach_core::adapter::{host_name, program_name, rfc3339};

use self::socket::{Address, Socket, beginning};
use crate::faults::Faults;
use crate::receiver::Receiver;
use crate::severity::Severity;
use crate::writer::Writer;

/// The longest message that rsyslog takes by default, with its head. It calls the number 8k.
pub const LONGEST: usize = 8096;
/// The number of decimal places of the seconds: the most that RFC 5424 allows.
const DIGITS: usize = 6;
/// The longest names, in characters: of a program in RFC 5424, of a host in RFC 5424, and of a
/// program in RFC 3164.
const LONGEST_APP: usize = 48;
const LONGEST_HOST: usize = 255;
const LONGEST_TAG: usize = 32;

/// A syslog daemon and the messages for it.
///
/// Messages are not encrypted. For TLS, let a daemon on this machine forward them: the page
/// `docs/security.md` in tach's repository has the configuration of rsyslog.
///
/// # Examples
///
/// ```no_run
/// use std::io::Write as _;
///
/// use tach_sinks::{Facility, Severity, Syslog};
///
/// let syslog = Syslog::tcp("logs.example.com:601").facility(Facility::Local3);
/// let mut writer = syslog.open(Severity::Info)?;
/// writeln!(writer, "ready")?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Syslog {
    address: Address,
    is_rfc5424: bool,
    framing: Framing,
    facility: Facility,
    app_name: Option<String>,
    host_name: Option<String>,
}

impl Syslog {
    /// The daemon on this machine, at `/dev/log`, with messages of RFC 3164 like those of the C
    /// library's `syslog`.
    ///
    /// # Examples
    ///
    /// ```
    /// let syslog = tach_sinks::Syslog::local();
    /// ```
    ///
    /// # Platform-specific behavior
    ///
    /// On Unix only.
    #[cfg(unix)]
    pub fn local() -> Self {
        Self::unix(crate::os::SYSLOG)
    }

    /// A daemon at another Unix socket for datagrams, with messages of RFC 3164.
    ///
    /// # Examples
    ///
    /// ```
    /// let syslog = tach_sinks::Syslog::unix("/run/systemd/journal/syslog").rfc5424();
    /// ```
    ///
    /// # Platform-specific behavior
    ///
    /// On Unix only.
    #[cfg(unix)]
    pub fn unix(path: impl Into<std::path::PathBuf>) -> Self {
        Self { is_rfc5424: false, ..Self::to(Address::Unix(path.into())) }
    }

    /// A daemon at a `host:port` that takes a datagram of UDP for each message of RFC 5424.
    ///
    /// If nothing listens at the port, the host says so, and the sink fails and tries again: on
    /// this machine without a loss, from another one after the messages that were on their way.
    /// Apart from that UDP loses messages unnoticed, and those beyond about 2 KiB often.
    ///
    /// # Examples
    ///
    /// ```
    /// let syslog = tach_sinks::Syslog::udp("logs.example.com:514");
    /// ```
    pub fn udp(address: &str) -> Self {
        Self::to(Address::Udp(address.to_owned()))
    }

    /// A daemon at a `host:port` that takes messages of RFC 5424 over TCP, each after its length
    /// (RFC 6587, "octet counting"). See [`lf_framing`](Self::lf_framing) for daemons that expect
    /// lines.
    ///
    /// Messages that were sent as the connection broke may be lost, and others may come twice.
    ///
    /// The connection is not encrypted. To send messages over TLS (RFC 5425), send them to a daemon
    /// on this machine, such as rsyslog with `StreamDriver="gtls"` or syslog-ng with
    /// `transport("tls")`. Such a daemon can also keep the messages while the other machine is
    /// away. Or send them to a local port of a program that encrypts connections, such as stunnel:
    /// RFC 5425 frames messages by their length as this method does.
    ///
    /// # Examples
    ///
    /// ```
    /// let syslog = tach_sinks::Syslog::tcp("logs.example.com:601");
    /// ```
    pub fn tcp(address: &str) -> Self {
        Self::to(Address::Tcp(address.to_owned()))
    }

    const fn to(address: Address) -> Self {
        Self {
            address,
            is_rfc5424: true,
            framing: Framing::Length,
            facility: Facility::User,
            app_name: None,
            host_name: None,
        }
    }

    /// Ends each message with a line feed instead of sending its length before (RFC 6587,
    /// "non-transparent framing"). A line feed within a message becomes `\n`.
    ///
    /// Only connections of TCP have a framing. With any other address, [opening](Self::open) fails.
    ///
    /// # Examples
    ///
    /// ```
    /// let syslog = tach_sinks::Syslog::tcp("logs.example.com:514").lf_framing();
    /// ```
    pub const fn lf_framing(mut self) -> Self {
        self.framing = Framing::LineFeed;
        self
    }

    /// Sends messages of RFC 5424, with the time in microseconds and the host.
    ///
    /// Most daemons expect RFC 3164 at `/dev/log`, and take the version of RFC 5424 for a program.
    ///
    /// # Examples
    ///
    /// ```
    /// let syslog = tach_sinks::Syslog::local().rfc5424();
    /// ```
    pub const fn rfc5424(mut self) -> Self {
        self.is_rfc5424 = true;
        self
    }

    /// Sends messages of RFC 3164 without time and host, so that the daemon adds its own.
    ///
    /// Times of RFC 3164 have neither a year nor a zone.
    ///
    /// # Examples
    ///
    /// ```
    /// let syslog = tach_sinks::Syslog::udp("localhost:514").rfc3164();
    /// ```
    pub const fn rfc3164(mut self) -> Self {
        self.is_rfc5424 = false;
        self
    }

    /// Sets the facility, by which a daemon sorts messages: by default [`Facility::User`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_sinks::{Facility, Syslog};
    ///
    /// let syslog = Syslog::local().facility(Facility::Daemon);
    /// ```
    pub const fn facility(mut self, facility: Facility) -> Self {
        self.facility = facility;
        self
    }

    /// Sets the name of the program, by default the name of its file.
    ///
    /// # Examples
    ///
    /// ```
    /// let syslog = tach_sinks::Syslog::local().app_name("checkout");
    /// ```
    pub fn app_name(mut self, name: &str) -> Self {
        self.app_name = Some(name.to_owned());
        self
    }

    /// Sets the name of the host in RFC 5424, by default the machine's on Unix. Messages of RFC
    /// 3164 have no host, and with them [opening](Self::open) fails.
    ///
    /// # Examples
    ///
    /// ```
    /// let syslog = tach_sinks::Syslog::udp("localhost:514").host_name("a.example.com");
    /// ```
    pub fn host_name(mut self, name: &str) -> Self {
        self.host_name = Some(name.to_owned());
        self
    }

    /// Returns a fault for each option that can't work.
    fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        self.address.check(&mut faults);
        faults.unless(
            self.framing == Framing::Length || matches!(self.address, Address::Tcp(_)),
            || "Syslog::lf_framing()".to_owned(),
            "each datagram is one message; only Syslog::tcp has a framing",
        );
        for (name, method) in [(&self.app_name, "app_name"), (&self.host_name, "host_name")] {
            let is_empty = name.as_ref().is_some_and(String::is_empty);
            let wanted = "a name is not empty; without the call it is found out";
            faults.unless(!is_empty, || format!("Syslog::{method}(\"\")"), wanted);
        }
        if let Some(name) = &self.host_name {
            let call = || format!("Syslog::host_name({name:?})");
            faults.unless(self.is_rfc5424, call, "RFC 3164 has no host here; call Syslog::rfc5424");
        }
        faults
    }

    /// Returns a writer whose records have a severity. The daemon is looked for at the first
    /// record.
    ///
    /// A record is a message. With its head it has 8,096 bytes at most, and is cut there: rsyslog
    /// takes no more by default, and would read the rest as messages of their own.
    ///
    /// A write may wait five seconds for a connection of TCP to each address of the host.
    ///
    /// # Errors
    ///
    /// If an option can't work.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_sinks::{Severity, Syslog};
    ///
    /// let writer = Syslog::udp("localhost:514").open(Severity::Info)?;
    /// assert!(Syslog::udp("localhost").open(Severity::Info).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn open(self, severity: Severity) -> io::Result<Writer> {
        let Daemon { name, receiver, faults } = Daemon::of(&self);
        faults.into_result()?;
        let messages = Messages::of(&self);
        let add = move |to: &mut Vec<u8>, time, record: &[u8]| {
            let start = to.len();
            messages.write(to, severity, time, |to| {
                let room = LONGEST.saturating_sub(to.len() - start);
                to.extend_from_slice(beginning(record, room));
                Ok(())
            })
        };
        Ok(Writer::new(name, receiver, add))
    }

    fn header(&self) -> Header {
        let app_name = self.app_name.as_deref().unwrap_or_else(|| program_name());
        if !self.is_rfc5424 {
            return Header::Rfc3164 {
                facility: self.facility as u8,
                tag: format!("{}[{}]: ", tag(app_name), process::id()),
            };
        }
        let host_name =
            printable(self.host_name.as_deref().unwrap_or_else(|| host_name()), LONGEST_HOST);
        let app_name = printable(app_name, LONGEST_APP);
        Header::Rfc5424(v5424::Formatter::from_config(v5424::Config {
            facility: self.facility.of_crate(),
            hostname: Some(&*host_name).filter(|name| !name.is_empty()),
            app_name: Some(&app_name),
            proc_id: Some(&process::id().to_string()),
        }))
    }
}

/// A daemon that nothing was sent to.
#[expect(missing_debug_implementations, reason = "a receiver need not have it")]
pub struct Daemon {
    /// The name by which messages call it.
    pub name: String,
    /// Its socket, which opens at the first write.
    pub receiver: Box<dyn Receiver>,
    /// What is wrong with its options.
    pub faults: Faults,
}

impl Daemon {
    /// Returns the daemon of the options.
    #[must_use]
    pub fn of(syslog: &Syslog) -> Self {
        let (name, socket) = (syslog.address.to_string(), Socket::new(syslog.address.clone()));
        Self { name, receiver: Box::new(socket), faults: syslog.faults() }
    }
}

/// The part of a system that a message of syslog is about, in the numbering of RFC 5424.
///
/// # Examples
///
/// See [`Syslog::facility`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names are syslog's")]
pub enum Facility {
    /// Programs of users: the default.
    User = 1,
    Mail = 2,
    /// Services of the system.
    Daemon = 3,
    /// Logins and permissions.
    Auth = 4,
    Cron = 9,
    /// Logins and permissions, in a log that few may read.
    Authpriv = 10,
    Local0 = 16,
    Local1 = 17,
    Local2 = 18,
    Local3 = 19,
    Local4 = 20,
    Local5 = 21,
    Local6 = 22,
    Local7 = 23,
}

impl Facility {
    fn of_crate(self) -> syslog_fmt::Facility {
        syslog_fmt::Facility::try_from(self as u8).unwrap_or(syslog_fmt::Facility::User)
    }
}

/// The head of a message, which precedes the text.
#[derive(Debug)]
enum Header {
    Rfc5424(v5424::Formatter),
    Rfc3164 { facility: u8, tag: String },
}

impl Header {
    fn write(&self, to: &mut Vec<u8>, severity: Severity, time: UnixTime) -> io::Result<()> {
        match self {
            Self::Rfc5424(header) => {
                let severity = syslog_fmt::Severity::try_from(severity as u8)
                    .unwrap_or(syslog_fmt::Severity::Debug);
                rfc3339::with_text_digits(time, DIGITS, |time| {
                    header.write_header(to, severity, Timestamp::PreformattedStr(time), None)
                })?;
                v5424::write_nil_value(to)?;
                to.push(b' ');
                Ok(())
            }
            Self::Rfc3164 { facility, tag } => {
                write!(to, "<{}>{tag}", facility * 8 + severity as u8)
            }
        }
    }
}

/// How a receiver finds the end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// Each message follows its length. A socket for datagrams removes the length.
    Length,
    /// Each message ends with a line feed, and contains no other.
    LineFeed,
}

impl Framing {
    /// Frames the message that begins at `start`.
    fn frame(self, to: &mut Vec<u8>, start: usize) {
        match self {
            Self::Length => {
                let length = format!("{} ", to.len() - start);
                to.splice(start..start, length.bytes());
            }
            Self::LineFeed => {
                for byte in to.split_off(start) {
                    match byte {
                        b'\n' => to.extend_from_slice(b"\\n"),
                        other => to.push(other),
                    }
                }
                to.push(b'\n');
            }
        }
    }
}

/// Puts texts into the framed messages of this process.
#[derive(Debug)]
pub struct Messages {
    header: Header,
    framing: Framing,
}

impl Messages {
    /// Returns the messages of this process by the options.
    #[must_use]
    pub fn of(syslog: &Syslog) -> Self {
        Self { header: syslog.header(), framing: syslog.framing }
    }

    /// Appends a message with the text that `text` appends, without a line feed at its end.
    ///
    /// # Errors
    ///
    /// If `text` fails.
    pub fn write(
        &self,
        to: &mut Vec<u8>,
        severity: Severity,
        time: UnixTime,
        text: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        let start = to.len();
        self.header.write(to, severity, time)?;
        text(to)?;
        if to.ends_with(b"\n") {
            to.pop();
        }
        self.framing.frame(to, start);
        Ok(())
    }
}

/// Returns a name cut to `most` characters, with `_` for each that is not printable ASCII.
fn printable(name: &str, most: usize) -> String {
    let printable = |character: char| if character.is_ascii_graphic() { character } else { '_' };
    name.chars().map(printable).take(most).collect()
}

/// Returns a program's name with `_` for `[`, `]` and `:`: a daemon takes those characters of a
/// message of RFC 3164 for the end of the name.
fn tag(name: &str) -> String {
    printable(name, LONGEST_TAG).replace(['[', ']', ':'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_a_header_may_have() {
        assert_eq!(printable("größe von a", 9), "gr__e_von");
        assert_eq!(tag("a[1]: b"), "a_1___b");
        assert_eq!(tag(&"x".repeat(40)).len(), LONGEST_TAG);
    }
}
