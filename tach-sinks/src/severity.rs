//! The severities of syslog.

/// How severe a record is, in the numbering of syslog (RFC 5424, section 6.2.1), which systemd's
/// journal has too.
///
/// # Examples
///
/// ```
/// use tach_sinks::Severity;
///
/// assert!(Severity::Error < Severity::Info);
/// assert_eq!(Severity::Warning as u8, 4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are syslog's")]
pub enum Severity {
    Emergency,
    Alert,
    Critical,
    Error,
    Warning,
    Notice,
    Info,
    Debug,
}
