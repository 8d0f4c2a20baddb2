//! Kinds of sinks: the parameter of [`Sink`](crate::Sink).
//!
//! A method exists where it can work: [`Sink::rotate`](crate::Sink::rotate) only for a file, and
//! [`Sink::format`](crate::Sink::format) where the receiver reads any format. Programs seldom name
//! a kind: [`Builder::sink`](crate::Builder::sink) takes all of them.
//!
//! # Examples
//!
//! A list of different sinks has the kind [`Any`], which is the default:
//!
//! ```
//! use tach_pipeline::{Pipeline, Sink};
//!
//! let sinks: [Sink; 2] = [Sink::stdout().into(), Sink::writer("memory", Vec::new()).into()];
//! let builder = sinks.into_iter().fold(Pipeline::builder(), |builder, sink| builder.sink(sink));
//! ```
//!
//! A standard stream can't be rotated, and a writer has no path:
//!
//! ```compile_fail,E0599
//! use tach_pipeline::{Rotation, Sink};
//!
//! let sink = Sink::stderr().rotate(Rotation::new().daily());
//! ```
//!
//! ```compile_fail,E0599
//! let sink = tach_pipeline::Sink::writer("memory", Vec::new()).keep_open();
//! ```

use core::fmt;
use std::path::{self, PathBuf};
use std::sync::Arc;

use tach_sinks::adapter::{self, LogFile, Options, Receiver};

use super::AnyFormat;
use super::Sink;
use super::refused::Refused;
use super::target::{Lane, Target};
use crate::error::Error;
use crate::faults::Faults;

/// A sink of any kind, with the methods that all kinds have.
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Rotation, Sink};
///
/// fn sink(rotates: bool) -> Sink {
///     let file = Sink::file("app.log");
///     if rotates { file.rotate(Rotation::new().daily()).into() } else { file.into() }
/// }
/// ```
pub struct Any(pub(super) Box<dyn Target>);

/// A [file](crate::Sink::file).
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Sink, SyncPolicy, kind};
///
/// fn audited(path: &str) -> Sink<kind::File> {
///     Sink::file(path).mode(0o600).sync(SyncPolicy::Every)
/// }
/// ```
pub struct File {
    pub(super) path: PathBuf,
    pub(super) options: Options,
}

/// A standard stream, a writer or a syslog daemon.
///
/// # Examples
///
/// ```
/// use tach_log::Json;
/// use tach_pipeline::{Sink, kind};
///
/// fn memory() -> Sink<kind::Stream> {
///     Sink::writer("memory", Vec::new()).format(Json::new())
/// }
/// ```
pub struct Stream {
    pub(super) name: String,
    pub(super) writer: Box<dyn Receiver>,
}

/// A receiver that reads only one format: systemd's journal, or a collector of OpenTelemetry.
///
/// # Examples
///
/// A collector reads no lines:
///
/// ```compile_fail,E0277
/// use tach_log::Line;
/// use tach_pipeline::{Sink, kind::OneFormat};
///
/// fn with_lines(collector: Sink<OneFormat>) {
///     collector.format(Line::new());
/// }
/// ```
pub struct OneFormat(pub(super) Box<dyn Target>);

/// The kinds whose receiver reads any format.
///
/// The trait is sealed: only this crate implements it.
///
/// # Examples
///
/// ```
/// use tach_log::Json;
/// use tach_pipeline::{Sink, kind};
///
/// fn json<K: kind::TakesFormat>(sink: Sink<K>) -> Sink<K> {
///     sink.format(Json::new())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a sink of the kind `{Self}` has no format to set",
    label = "the receiver reads one format alone",
    note = "files, standard streams, writers and syslog daemons take formats"
)]
pub trait TakesFormat: sealed::Sealed {}

impl TakesFormat for File {}
impl TakesFormat for Stream {}

mod sealed {
    /// Seals a trait: other crates can't name this one, so they can't implement the sealed trait.
    pub trait Sealed {}
    impl Sealed for super::File {}
    impl Sealed for super::Stream {}
}

impl Target for File {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn check(&self, faults: &mut Faults) {
        let mut found = adapter::Faults::default();
        let of = format!("Sink::file(\"{}\")", self.path.display());
        self.options.check(&mut found, &of, &self.path);
        faults.add_all(found.0);
    }

    /// Makes the path absolute: the child may have another working folder by then.
    fn again(&self) -> Box<dyn Target> {
        let path = path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        Box::new(Self { path, options: self.options })
    }

    fn open(self: Box<Self>, format: Arc<AnyFormat>) -> Result<Vec<Lane>, Error> {
        let name = self.name();
        let file = LogFile::open(&self.path, self.options)
            .map_err(|error| Error::open(&self.path, error))?;
        Ok(Lane::events(name, format, Box::new(file)))
    }
}

impl Target for Stream {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn check(&self, faults: &mut Faults) {
        let call = || "Sink::writer(\"\", ..)".to_owned();
        faults.unless(!self.name.is_empty(), call, "messages call the writer by its name");
    }

    fn again(&self) -> Box<dyn Target> {
        let writer = self.writer.again().unwrap_or_else(|| Box::<Refused>::default());
        Box::new(Self { name: self.name.clone(), writer })
    }

    fn open(self: Box<Self>, format: Arc<AnyFormat>) -> Result<Vec<Lane>, Error> {
        Ok(Lane::events(self.name, format, self.writer))
    }
}

impl From<Sink<File>> for Sink {
    fn from(sink: Sink<File>) -> Self {
        sink.map(|file| Any(Box::new(file)))
    }
}

impl From<Sink<Stream>> for Sink {
    fn from(sink: Sink<Stream>) -> Self {
        sink.map(|stream| Any(Box::new(stream)))
    }
}

impl From<Sink<OneFormat>> for Sink {
    fn from(sink: Sink<OneFormat>) -> Self {
        sink.map(|receiver| Any(receiver.0))
    }
}

impl fmt::Debug for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name())
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.path.display(), f)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for OneFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name())
    }
}
