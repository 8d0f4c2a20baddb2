//! The methods that say where requests go, and how.

use core::time::Duration;
use std::path::Path;

use super::Otlp;
use super::choices::{Compression, Protocol};
use super::requests::Endpoint;
use crate::security::File;
use crate::signal::Signal;

impl Otlp {
    /// Sets the collector's address, without a path: `/v1/logs`, `/v1/traces` or `/v1/metrics` is
    /// appended, after the path if there is one. By default it is `http://localhost:4318`.
    ///
    /// A query, which may have a key, is sent and never printed. A user and a password are refused:
    /// a [header](Self::header) such as `authorization` has them.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::new().endpoint("http://collector:4318");
    /// ```
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        let endpoint = Endpoint::of_program(&url.into());
        self.requests.iter_mut().for_each(|it| it.endpoint = endpoint.clone());
        self
    }

    /// Adds a header to each request, such as a key of the collector's. The value is never printed.
    /// If an answer repeats the value, `[redacted]` is printed instead. It replaces an earlier
    /// header of that name, and this crate's `user-agent`. A header that frames the request, such
    /// as `content-type` or `host`, fails [`exporter`](Self::exporter).
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::new().header("x-api-key", "secret");
    /// ```
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.each(|requests| requests.header(&name, &value))
    }

    /// Sets the compression of requests: none by default.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::{Compression, Otlp};
    ///
    /// let otlp = Otlp::new().compression(Compression::Gzip);
    /// ```
    pub fn compression(self, compression: Compression) -> Self {
        self.each(|requests| {
            requests.compression = compression;
            requests.overrides("_COMPRESSION");
        })
    }

    /// Sets the file with the certificates of the authorities that may have signed the collector's,
    /// in PEM, for endpoints that begin with `https://`. By default these are the authorities that
    /// this machine trusts, or that the variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name. Such
    /// endpoints need the feature `tls`.
    ///
    /// The file is read once, by [`exporter`](Self::exporter).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::Otlp;
    ///
    /// let otlp = Otlp::new().endpoint("https://collector:4318").certificate("/etc/tls/ca.pem");
    /// ```
    pub fn certificate(self, path: impl AsRef<Path>) -> Self {
        let file = File::of("the certificate's file", path.as_ref());
        self.each(|requests| requests.files.roots = Some(file.clone()))
    }

    /// Sets the files with this program's own certificate and its private key, in PEM, for a
    /// collector that accepts only known clients. In the file, the certificates between it and its
    /// authority follow it.
    ///
    /// The files are read once, by [`exporter`](Self::exporter).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::Otlp;
    ///
    /// let otlp = Otlp::new().client_certificate("/etc/tls/client.pem", "/etc/tls/client.key");
    /// ```
    pub fn client_certificate(self, certificate: impl AsRef<Path>, key: impl AsRef<Path>) -> Self {
        let certificate = File::of("the client's certificate", certificate.as_ref());
        let key = File::of("the client's key", key.as_ref());
        self.each(|requests| {
            requests.files.certificate = Some(certificate.clone());
            requests.files.key = Some(key.clone());
        })
    }

    /// Sets the protocol below the requests: [`Protocol::HttpProtobuf`] by default. With `Grpc`,
    /// the default endpoint is `http://localhost:4317`, the service's method is appended to an
    /// endpoint, and an endpoint without a scheme is reached by TLS. The thread that sends drives
    /// the connection of gRPC: no runtime is needed or touched.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::{Otlp, Protocol};
    ///
    /// let otlp = Otlp::new().protocol(Protocol::Grpc).endpoint("http://collector:4317");
    /// ```
    pub fn protocol(self, protocol: Protocol) -> Self {
        self.each(|requests| {
            requests.protocol = protocol;
            requests.overrides("_PROTOCOL");
        })
    }

    /// Sets how long a request and its answer may take: 10 s by default, and a day at most.
    /// Afterwards the request should be sent again. A timeout of zero fails
    /// [`exporter`](Self::exporter). With gRPC, the look-up of the host's name is the system's, and
    /// has a timeout of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let otlp = tach_otlp::Otlp::new().timeout(Duration::from_secs(3));
    /// ```
    pub fn timeout(self, timeout: Duration) -> Self {
        self.each(|requests| {
            requests.timeout = timeout;
            requests.overrides("_TIMEOUT");
        })
    }

    /// Sets how long a record or a span may wait for others before it is sent: 1 s by default. The
    /// caller of [`Exporter::send`](crate::Exporter::send) must observe it. A sink of
    /// `tach-pipeline` sends earlier for a flush, or if 256 KiB of logs, of spans or of metrics
    /// wait, or less if they would fill half of their share of its buffer. A request has up to 512
    /// KiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let otlp = tach_otlp::Otlp::new().max_delay(Duration::from_millis(200));
    /// ```
    pub fn max_delay(mut self, delay: Duration) -> Self {
        for signal in [Signal::Logs, Signal::Traces] {
            let requests = self.requests_mut(signal);
            requests.max_delay = delay;
            requests.overrides("_SCHEDULE_DELAY");
        }
        self
    }

    /// Sets for how long a request should be sent again while the collector can't be reached or
    /// asks to wait: 5 minutes by default. The caller of [`Exporter::send`](crate::Exporter::send)
    /// must observe it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let otlp = tach_otlp::Otlp::new().retry_for(Duration::from_secs(60));
    /// ```
    pub fn retry_for(mut self, time: Duration) -> Self {
        self.retry_for = time;
        self
    }
}
