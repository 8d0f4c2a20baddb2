//! What a program chooses: protocol, compression, temporality.

/// The protocol below a request.
///
/// # Examples
///
/// ```
/// use tach_otlp::{Otlp, Protocol};
///
/// let otlp = Otlp::from_env().protocol(Protocol::HttpProtobuf);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// Protobuf over HTTP/1.1. A collector listens on port 4318.
    HttpProtobuf,
    /// gRPC, which needs the feature `grpc`: without it, [`Otlp::exporter`](crate::Otlp::exporter)
    /// fails. A collector listens on port 4317.
    Grpc,
}

/// The compression of requests.
///
/// # Examples
///
/// ```
/// use tach_otlp::{Compression, Otlp};
///
/// let otlp = Otlp::from_env().compression(Compression::None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Requests are not compressed.
    None,
    /// gzip, by the crate `flate2`.
    Gzip,
}

/// The period that a metric covers.
///
/// # Examples
///
/// ```
/// use tach_otlp::{Otlp, Temporality};
///
/// let otlp = Otlp::new().temporality(Temporality::Delta);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Temporality {
    /// The time since the start of the process.
    Cumulative,
    /// The time since the last export. A delta that is lost on its way is missing from then on.
    Delta,
}
